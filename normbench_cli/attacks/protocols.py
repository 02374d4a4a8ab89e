"""What an attack is, and what it may offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor, nn


class Attack(Protocol):
    """Returns inputs on which the model is scored instead of the given ones.

    A spec names a subclass of `torch.nn.Module`, which may take `mean` and `std` (per channel, of the data's
    standardization), or a function of ``model``, ``x`` and ``y``; the spec sets the other parameters.
    """

    def __call__(self, model: nn.Module, x: Tensor, y: Tensor, /) -> Tensor:
        """x: standardized inputs (N, C, H, W) on the device; y: labels (N,).  The model keeps its state."""
        ...


@runtime_checkable
class ClipsInputs(Protocol):
    """An attack that clips its result to a range; clean inputs that are only clipped are scored too."""

    def clip_only(self, x: Tensor) -> Tensor: ...
