"""Where the solvers of a layer or a model begin: where they ended in the batch before, or without anything known.

In training a solver has a warm start, as the center of a channel hardly moves from batch to batch.  A cold start is
that of the first batch.  Layers whose solver keeps no start, and layers without a solver, are the same in both.
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
    """The starts of all solvers, which they change with every batch."""
    return [start for module in model.modules() if keeps_start(module) for start in module.starts]


def started(work: Work, model: nn.Module, start: str) -> Work:
    """The work with a start of this kind in every call.  Repeated on one batch, work is warm by itself."""
    kept = kept_starts(model)
    return beginning_at(work, kept, [torch.zeros_like(each) for each in kept]) if start == "cold" else work


def beginning_at(work: Work, kept: Sequence[Tensor], values: Sequence[Tensor]) -> Work:
    """The work with the same starts in every call; they are set back outside of its time."""
    if not kept:
        return work

    @torch.no_grad()
    def set_back() -> None:
        for own, value in zip(kept, values, strict=True):
            own.copy_(value)

    return Prepared(work, set_back)
