"""The generalized geometric median in float64 by bisection: what solvers are measured against, so it shares no code
with them."""

from __future__ import annotations

import torch
from torch import Tensor

NEAR = 1e-9  # standard deviations: how good a guess has to be in order to save steps
CLOSE = 1e-13  # standard deviations: the bracket in which the search ends
MOST_STEPS = 100


@torch.no_grad()
def exact_median(x: Tensor, phi: float, guess: Tensor | None = None) -> Tensor:
    """argmin_y sum |x - y|^phi of each column of x (values, C), for 1 < phi < infinity.

    The score, sum sign(x - y) |x - y|^(phi-1), falls in y, so that its sign tells on which side of y the median lies.
    guess: the search begins around it where the score changes its sign there, and elsewhere with the whole range; a
    wrong one costs two passes and changes nothing else.
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
    """How far each column's mu is from the exact one, in standard deviations of x (values, C).

    No result can be nearer than the spacing of its type's numbers, which is the unit of a column that hardly varies.
    """
    spacing = torch.finfo(x.dtype).eps * x.double().abs().amax(0)
    sd = x.double().std(0, correction=0)
    return (mu.double() - exact).abs() / torch.maximum(sd, spacing).clamp_min(1e-300)
