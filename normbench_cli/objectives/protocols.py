"""What an objective is, and what it may offer.  An imported component is also a `torch.nn.Module`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor


class Objective(Protocol):
    """What training minimizes, from the losses of a batch."""

    def __call__(self, losses: Tensor, /) -> Tensor:
        """losses: one per example, (N,).  Returns a scalar that is differentiable in them."""
        ...


@runtime_checkable
class LeavesOut(Protocol):
    """An objective that ignores a fraction of each batch, the examples with the largest losses; a warning is given if
    that is less than one example."""

    @property
    def eps(self) -> float: ...
