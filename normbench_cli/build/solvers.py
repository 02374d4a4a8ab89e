"""The solvers of the generalized geometric median, stopped after a number of passes over the data."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._ggm.kernels import ForwardPass, SolverOptions, forward_pass
from normbench_cli.norms._ggm.stats import SolverTotals

SOLVERS = ("safe", "newton")  # the bracketed search of the layers, and the papers' iteration


class Estimate(NamedTuple):
    """The current estimate of each column's median, and the number of passes made for it."""

    mu: Tensor
    passes: Tensor


@torch.no_grad()
def median_after(x: Tensor, phi: float, solver: str, passes: int) -> Estimate:
    """Run the forward pass of a layer that has seen no batch yet, on x (values, C) in float32 or float64; not compiled.

    It searches from the mean.  A pass is one sum over all data, not counting mean and variance (and, for phi > 2, the
    range) before the first, and the output after the last.  passes: the maximum; `safe` makes fewer if all columns have
    converged, `newton` never.
    """
    options = SolverOptions(phi, eps=0.0, steps=passes, plain=solver == "newton", above_two=phi > 2)
    cold, totals = torch.zeros_like(x[0]), torch.zeros(len(SolverTotals._fields), device=x.device)
    state = ForwardPass.unflatten(forward_pass(x, None, None, None, cold, totals, options=options)).state
    return Estimate(state.y, state.iterations)
