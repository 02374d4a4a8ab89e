"""Warm and cold starts of the solvers of a layer or a model.

In training a solver starts warm, from its result for the previous batch, as the center of a channel hardly moves from
batch to batch.  In the first batch it starts cold.  Layers whose solver keeps no start, and layers without a solver,
are the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normbench_cli.measure.timing import Prepared, Work
from normbench_cli.norms.protocols import keeps_start

STARTS = {
    "warm": "a solver begins where it ended in the batch before, as in training",
    "cold": "a solver begins without anything known, as in the first batch",
}


def kept_starts(model: nn.Module) -> list[Tensor]:
    """The starts of all solvers, which they update with every batch."""
    return [start for module in model.modules() if keeps_start(module) for start in module.starts]


def started(work: Work, model: nn.Module, start: str) -> Work:
    """The work with this kind of start in every call.  Work repeated on one batch is warm anyway."""
    kept = kept_starts(model)
    return beginning_at(work, kept, [torch.zeros_like(each) for each in kept]) if start == "cold" else work


def beginning_at(work: Work, kept: Sequence[Tensor], values: Sequence[Tensor]) -> Work:
    """The work with the same starts in every call; resetting them is not timed."""
    if not kept:
        return work

    @torch.no_grad()
    def set_back() -> None:
        for own, value in zip(kept, values, strict=True):
            own.copy_(value)

    return Prepared(work, set_back)
