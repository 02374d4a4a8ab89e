"""Solver statistics: how many iterations a layer's searches take and how exact their results are.

A layer keeps five totals in one tensor on its device, so that nothing waits for the device until they are read.  Only
this file knows their order: `SolverTotals` names them, `add_call` updates them, `SolverLayer` reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn


class SolverTotals(NamedTuple):
    """Totals over the calls since the last reset, one scalar each."""

    calls: Tensor
    mean_iterations: Tensor  # the sum of the calls' means over channels
    max_iterations: Tensor
    unconverged: Tensor  # the sum of the calls' fractions of channels
    max_error: Tensor  # the largest error bound, in standard deviations


def add_call(
    totals: Tensor, iterations: Tensor, converged: Tensor, error: Tensor, share: float | Tensor = 1.0
) -> Tensor:
    """The totals (5) after one more call, whose iterations, convergence and error bounds are tensors of one shape, one
    element per median; share: the fraction of the call's medians that these are, if they come in parts."""
    old, dtype = SolverTotals(*totals.unbind()), totals.dtype
    new = SolverTotals(
        calls=old.calls + share,
        mean_iterations=old.mean_iterations + iterations.to(dtype).mean() * share,
        max_iterations=torch.maximum(old.max_iterations, iterations.to(dtype).amax()),
        unconverged=old.unconverged + (~converged).to(dtype).mean() * share,
        max_error=torch.maximum(old.max_error, error.to(dtype).amax()),
    )
    return torch.stack(list(new))


class SolverLayer(nn.Module):
    """A layer that finds its center with a solver and keeps statistics about it, which are not in the state dict."""

    record: Tensor
    largest_error: Tensor  # the largest error bound, in standard errors

    def __init__(self) -> None:
        super().__init__()
        # the name in existing checkpoints, which hold all buffers so that a run can be resumed within an epoch
        self.register_buffer("record", torch.zeros(len(SolverTotals._fields)), persistent=False)
        self.register_buffer("largest_error", torch.zeros(()), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name in ("record", "largest_error"):  # in bfloat16 a count would stop at 256
            buffer = self.get_buffer(name)
            setattr(self, name, buffer.to(torch.promote_types(buffer.dtype, torch.float32)))
        return self

    @property
    def solver_totals(self) -> Tensor:
        """The totals (5)."""
        return self.record

    def solver_statistics(self) -> dict[str, Tensor]:
        """Since the last reset: iterations (mean over calls and channels, largest), fraction of channels not converged,
        largest error bound in standard deviations, and in standard errors of the median (sd / sqrt(values), the unit of
        ``tol``); as scalar tensors, not yet read."""
        totals = SolverTotals(*self.solver_totals.unbind())
        calls = totals.calls.clamp_min(1)
        return {
            "iterations_mean": totals.mean_iterations / calls,
            "iterations_max": totals.max_iterations.clone(),
            "unconverged": totals.unconverged / calls,
            "residual": totals.max_error.clone(),
            "error_bound": self.largest_error.clone(),
        }

    def count_error(self, largest: Tensor) -> None:
        """largest: the largest error bound of a call, in standard errors."""
        self.largest_error.copy_(torch.maximum(self.largest_error, largest.detach().to(self.largest_error.dtype)))

    def reset_solver_statistics(self) -> None:
        self.solver_totals.zero_()
        self.largest_error.zero_()
