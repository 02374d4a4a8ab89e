"""What an attack is, and what it may offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor, nn


class Attack(Protocol):
    """Inputs on which the model is scored instead of the given ones.

    In a spec an attack is named as a class made from `torch.nn.Module`, which may take `mean` and `std` (of each
    channel, by which the data were standardized), or as a function of ``model``, ``x`` and ``y``; the spec sets the
    other parameters.
    """

    def __call__(self, model: nn.Module, x: Tensor, y: Tensor, /) -> Tensor:
        """x: standardized inputs (N, C, H, W) on the device; y: labels (N,).  The model keeps its state."""
        ...


@runtime_checkable
class ClipsInputs(Protocol):
    """An attack that clips its result to a range; what clipping alone does to clean inputs is scored too."""

    def clip_only(self, x: Tensor) -> Tensor: ...
