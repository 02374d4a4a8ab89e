"""What the worst-case objectives share: their arguments' check, the sorting, and the weights of the chi-square ball.

Every one of them is a maximum over weights q of sum q_i l_i.  So q itself, held constant, is the gradient (Danskin),
and no objective has to differentiate through its own search.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def check_share(alpha: float, eps: float = 0.0) -> None:
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha is {alpha:g}; give a share above 0 and at most 1")
    if not 0 <= eps < 1:
        raise ValueError(f"eps is {eps:g}; give a share from 0 to below 1")


def from_the_worst(losses: Tensor) -> Tensor:
    """The losses in falling order; equal ones stay in the order of the batch."""
    if losses.dim() != 1 or not len(losses):
        raise ValueError(f"losses have the shape {tuple(losses.shape)}; give one loss a sample, at least one")
    return losses.sort(descending=True, stable=True).values


def dropped(samples: int, eps: float) -> int:
    """How many of the worst losses count as outliers: the whole part of eps B, and never all of them."""
    return min(int(eps * samples), samples - 1)


def chi2_mean(ordered: Tensor, alpha: float) -> Tensor:
    """The largest mean of losses in falling order over all reweightings within the chi-square ball of alpha."""
    if alpha == 1:
        return ordered.mean()  # the ball is a point
    weights, counted = chi2_weights(ordered.detach(), math.hypot(1, 1 / alpha - 1))
    return torch.where(counted, weights * ordered, 0.0).sum()


def chi2_weights(ordered: Tensor, c: float) -> tuple[Tensor, Tensor]:
    """The weights that attain it, and which losses they count: those above eta = argmin C sqrt(mean (l-eta)_+^2) + eta.

    A loss x counts where the function still rises at eta = x, that is where C^2 (sum (l-x)_+)^2 < n sum (l-x)_+^2, and
    the worst ones always do.  With k counted losses of mean m and variance v,

        q_i = (1 + sqrt(C^2 k/n - 1) (l_i - m)/sqrt(v)) / k

    If eta reaches the largest loss (all equal, or n < C^2), the worst loss and its ties are counted: v = 0, q = 1/k.
    """
    n = len(ordered)
    below = ordered[:1] - ordered
    below = below / below[-1:].clamp_min(torch.finfo(ordered.dtype).tiny)  # 0 the worst, 1 the best: scale is no matter
    before = torch.arange(n, device=ordered.device, dtype=ordered.dtype)
    sums, squares = below.cumsum(0), below.square().cumsum(0)
    first = before * below - sums + below  # sum of (l-x)_+ over the losses above x
    second = before * below.square() - 2 * below * (sums - below) + squares - below.square()
    counted = (c * c * first.square() < n * second) | (below == 0)
    k = counted.sum(dtype=ordered.dtype)
    mean = torch.where(counted, below, 0.0).sum() / k
    apart = torch.where(counted, mean - below, 0.0)  # l - m; exactly 0 where all counted losses are equal
    deviation = (apart.square().sum() / k).sqrt()
    lean = (((c * c - 1) * k + (k - n)) / n).clamp_min(0).sqrt()
    tilt = lean * apart / deviation.clamp_min(torch.finfo(ordered.dtype).tiny)
    return torch.where(counted, (1 + tilt).clamp_min(0) / k, 0.0), counted
