"""The generalized geometric median in float64 by bisection: the reference for solvers, with which it shares no code."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR = 1e-9  # standard deviations: how close a guess must be to save steps
CLOSE = 1e-13  # standard deviations: the width of the bracket at which the search ends
MOST_STEPS = 100


@torch.no_grad()
def exact_median(x: Tensor, phi: float, guess: Tensor | None = None) -> Tensor:
    """argmin_y sum |x - y|^phi of each column of x (values, C), for 1 < phi < infinity.

    The score, sum sign(x - y) |x - y|^(phi-1), decreases in y, so its sign shows on which side of y the median lies.
    guess: the search starts around it if the score changes sign there, else with the whole range; a wrong guess costs
    two passes and has no other effect.
    """
    x = x.double()
    low, high = x.amin(0), x.amax(0)
    sd = x.std(0, correction=0)
    size = (high - low).clamp_min(1e-300)

    def lies_above(y: Tensor) -> Tensor:
        d = (x - y) / size
        return (d.sign() * d.abs().pow_(phi - 1)).sum(0) > 0

    if guess is not None:
        below, above = guess.double() - NEAR * sd, guess.double() + NEAR * sd
        low = torch.where(lies_above(below), torch.maximum(low, below), low)
        high = torch.where(lies_above(above), high, torch.minimum(high, above))
    for _ in range(MOST_STEPS):
        y = (low + high) / 2
        if bool((high - low <= CLOSE * sd).all()):
            break
        above_y = lies_above(y)
        low, high = torch.where(above_y, y, low), torch.where(above_y, high, y)
    return (low + high) / 2


def error_in_sd(mu: Tensor, exact: Tensor, x: Tensor) -> Tensor:
    """The error of each column's mu in standard deviations of x (values, C).

    No result can be more accurate than the spacing of its dtype, which is the unit for a column that hardly varies.
    """
    spacing = torch.finfo(x.dtype).eps * x.double().abs().amax(0)
    sd = x.double().std(0, correction=0)
    return (mu.double() - exact).abs() / torch.maximum(sd, spacing).clamp_min(1e-300)
