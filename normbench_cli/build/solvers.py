"""The solvers of the generalized geometric median, stopped after so many passes over the data."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._ggm.kernels import SolverOptions, prepare
from normbench_cli.norms._ggm.solver import ACCURACY, column_sums, plain_newton, search, start_search

SOLVERS = ("safe", "newton")  # the bracketed search of the layers, and the papers' iteration


class Estimate(NamedTuple):
    """Of each column: the median as far as it is found, and the passes that were made for it."""

    mu: Tensor
    passes: Tensor


@torch.no_grad()
def median_after(x: Tensor, phi: float, solver: str, passes: int) -> Estimate:
    """Search as a layer does that has seen no batch yet: from the mean of x (values, C), in its type, float32 or
    float64, but not compiled.

    A pass is one sum over all data; those for mean and variance (above phi = 2 the range, too) come before the first.
    passes: at most so many; `safe` makes fewer where all columns are done, `newton` never.
    """
    problem = prepare(x, SolverOptions(phi, eps=0.0, steps=passes, above_two=phi > 2))
    sums = column_sums(x, phi, problem.floor, problem.unit, problem.sd)
    if solver == "newton":
        state = plain_newton(problem.mean, sums, phi, problem.sd, passes)
    else:
        start = start_search(problem.mean, problem.low, problem.high)
        state = search(start, sums, phi, problem.sd, ACCURACY[x.dtype], passes, stop_early=True)
    return Estimate(state.y, state.iterations)
