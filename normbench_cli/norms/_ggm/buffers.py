"""The buffers of a layer that the solver reads and updates in every training step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._ggm.passes import Step


class SolverBuffers(NamedTuple):
    """In the order in which kernels and operators take them."""

    start: Tensor  # (C): where the next search begins, (mu - mean) / sd
    center: Tensor  # (C): mu of the previous batch
    solver_totals: Tensor  # (5), of `stats.py`
    largest_error: Tensor  # (): the largest error bound, in standard errors

    def after(self, step: Step) -> SolverBuffers:
        """Return the values after this step."""
        center = torch.where(torch.isfinite(step.mu), step.mu, self.center).to(self.center.dtype)
        start = self.start.lerp(step.offset.to(self.start.dtype), 0.5)
        largest_error = torch.maximum(self.largest_error, step.largest_error.to(self.largest_error.dtype))
        return SolverBuffers(start, center, step.solver_totals, largest_error)

    def update(self, new: Iterable[Tensor]) -> None:
        for old, value in zip(self, new, strict=True):
            old.copy_(value)
