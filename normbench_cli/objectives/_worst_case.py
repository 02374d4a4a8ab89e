"""What the worst-case objectives share: sorting, and the weights of the chi-square ball.

Each objective is a maximum of sum q_i l_i over weights q.  So the maximizing q, held constant, is the gradient
(Danskin), and no objective differentiates through its own search.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sort_descending(losses: Tensor) -> Tensor:
    """The losses from the largest to the smallest; equal ones stay in the order of the batch."""
    if losses.dim() != 1 or not len(losses):
        raise ValueError(f"losses have the shape {tuple(losses.shape)}; give one loss an example, at least one")
    return losses.sort(descending=True, stable=True).values


def outlier_count(examples: int, eps: float) -> int:
    """How many of the largest losses count as outliers: the whole part of eps B, but never all of them."""
    return min(int(eps * examples), examples - 1)


def chi2_mean(ordered: Tensor, alpha: float) -> Tensor:
    """The largest mean of descending losses over all reweightings within the chi-square ball of alpha."""
    if alpha == 1:
        return ordered.mean()  # the ball is a point
    weights, counted = chi2_weights(ordered.detach(), math.hypot(1, 1 / alpha - 1))
    return torch.where(counted, weights * ordered, 0.0).sum()


def chi2_weights(ordered: Tensor, c: float) -> tuple[Tensor, Tensor]:
    """The weights q that maximize the mean of descending losses l, and which losses they count.

    The losses above eta = argmin C sqrt(mean (l - eta)_+^2) + eta are counted.  A loss x is counted if the function
    still rises at eta = x, that is if C^2 (sum (l-x)_+)^2 < n sum (l-x)_+^2; the largest losses always are.  With k
    counted losses of mean m and variance v,

        q_i = (1 + sqrt(C^2 k/n - 1) (l_i - m)/sqrt(v)) / k

    If eta reaches the largest loss (all equal, or n < C^2), the largest loss and its ties are counted: v = 0, q = 1/k.

    Example: losses 3 1 0 with C^2 = 2 (alpha = 1/2).  For x = 3, 1, 0 the sums of (l-x)_+ are 0, 2, 4 and those of the
    squares 0, 4, 10.  For x = 1, 2 * 2^2 = 8 < 3 * 4 = 12; for x = 0, 2 * 4^2 = 32 > 3 * 10 = 30.  So 3 and 1 are
    counted, with m = 2 and v = 1, and q = (1 + sqrt(1/3)) / 2, (1 - sqrt(1/3)) / 2, 0.

    The sums are computed for all x at once: with d_i the distance of l_i from the largest loss and j losses before x,
    sum (l-x)_+ = j d_x - sum of the j distances, and sum (l-x)_+^2 = j d_x^2 - 2 d_x sum d + sum d^2.
    """
    n = len(ordered)
    distance = ordered[:1] - ordered
    distance = distance / distance[-1:].clamp_min(torch.finfo(ordered.dtype).tiny)  # in 0-1: q does not depend on scale
    before = torch.arange(n, device=ordered.device, dtype=ordered.dtype)
    sums, squares = distance.cumsum(0), distance.square().cumsum(0)
    first = before * distance - sums + distance  # sum of (l-x)_+
    second = before * distance.square() - 2 * distance * (sums - distance) + squares - distance.square()
    counted = (c * c * first.square() < n * second) | (distance == 0)
    k = counted.sum(dtype=ordered.dtype)
    mean = torch.where(counted, distance, 0.0).sum() / k
    above_mean = torch.where(counted, mean - distance, 0.0)  # l - m; exactly 0 if all counted losses are equal
    deviation = (above_mean.square().sum() / k).sqrt()
    slope = (((c * c - 1) * k + (k - n)) / n).clamp_min(0).sqrt()
    excess = slope * above_mean / deviation.clamp_min(torch.finfo(ordered.dtype).tiny)
    return torch.where(counted, (1 + excess).clamp_min(0) / k, 0.0), counted
