"""Phi as a parameter: one value per channel, held inside a range by its parametrization.

    phi = low + (high - low) sigmoid(phi_raw)

If phi were clamped after each step, it would have no gradient at the bound and stick there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from normbench_cli.norms.protocols import exempt_from_weight_decay
from normbench_cli.registry.bounds import Bounds

LearnablePhi = Annotated[float, Bounds(above=1, most=16)]  # 1 and inf are not searched for, so phi has no gradient


class PhiRange(NamedTuple):
    low: float
    high: float

    def phi(self, raw: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * torch.sigmoid(raw)

    def raw(self, phi: float, channels: int, computed_in: torch.dtype) -> Tensor:
        """The raw value of a phi inside the range, for each channel."""
        fraction = (phi - self.low) / (self.high - self.low)
        raw = torch.full((channels,), fraction, dtype=computed_in, device="cpu").logit()  # others may lack float64
        return raw.to(torch.get_default_device(), torch.get_default_dtype())


class LearnsPhiModule(nn.Module):
    """A layer with the parameter `phi_raw` (C), or None, which the optimizer must not decay: weight decay would pull
    phi to the middle of its range."""

    phi_raw: nn.Parameter | None

    def register_phi_raw(self, raw: Tensor | None) -> None:
        self.register_parameter("phi_raw", None if raw is None else nn.Parameter(raw))
        self._exempt_phi()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._exempt_phi()  # a copied parameter has lost its mark

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "phi_raw":
            self._exempt_phi()  # FSDP2 replaces the parameter

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._exempt_phi()  # to_empty replaces the parameter
        return self

    def _exempt_phi(self) -> None:
        if self.phi_raw is not None:
            exempt_from_weight_decay(self.phi_raw, "phi")
