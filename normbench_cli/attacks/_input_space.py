"""The space in which an attack's sizes are given, and the range to which it clips its result."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

GALLOWAY_LIMIT = 2.0  # Galloway et al. clip to [-2, 2] in normalized space
ROUNDING_MARGIN = 1e-6  # of the pixel range 0-1: a clean value that exceeds it by this little is not clipped


class InputSpace(nn.Module):
    """Converts and clips inputs that were standardized by (x - mean) / std from pixels in 0-1.

    space: `normalized` takes sizes as they are; `pixel` takes them as fractions of the pixel range and divides by std.
    clip: `data_range` is what pixels in 0-1 become; `galloway` is [-2, 2], which also moves clean values outside it;
    `none` does not clip.
    mean, std: one number per channel, set by the program.  Without them, `data_range` in normalized space is the range
    of each channel in the clean batch; in pixel space the inputs are taken to be pixels.
    """

    low: Tensor
    high: Tensor
    std: Tensor

    def __init__(
        self,
        space: Literal["normalized", "pixel"],
        clip: Literal["data_range", "galloway", "none"],
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        if (mean is None) != (std is None) or (mean and std and len(mean) != len(std)):
            raise ValueError("mean and std belong together; give one number a channel of each, or neither")
        if std and min(std) <= 0:
            raise ValueError(f"a std is {min(std):g}; give numbers above 0")
        self.space = space
        self.clip_mode = clip
        self.range_known = mean is not None or space == "pixel"
        center, spread = torch.tensor(mean or (0.0,)), torch.tensor(std or (1.0,))
        self.register_buffer("low", -center / spread, persistent=False)
        self.register_buffer("high", (1 - center) / spread, persistent=False)
        self.register_buffer("std", spread, persistent=False)

    def to_input_units(self, size: float, x: Tensor) -> float | Tensor:
        """Convert a size in this space to units of the inputs `x`."""
        return size / per_channel(self.std, x) if self.space == "pixel" else size

    def clip(self, x: Tensor, clean: Tensor | None = None) -> Tensor:
        """`x`, clipped to the range.  An unknown range is taken from the clean batch, which is `x` by default."""
        if self.clip_mode == "none":
            return x
        if self.clip_mode == "galloway":
            return x.clamp(-GALLOWAY_LIMIT, GALLOWAY_LIMIT)
        clean = x if clean is None else clean
        if not self.range_known:
            over = [d for d in range(x.dim()) if d != 1]
            return torch.clamp(x, clean.amin(over, keepdim=True), clean.amax(over, keepdim=True))
        low, high, margin = (per_channel(t, x) for t in (self.low, self.high, ROUNDING_MARGIN / self.std))
        low = torch.minimum(low, torch.maximum(clean, low - margin))
        high = torch.maximum(high, torch.minimum(clean, high + margin))
        return torch.clamp(x, low, high)


def per_channel(values: Tensor, x: Tensor) -> Tensor:
    """One value per channel, shaped to broadcast with inputs (N, C, ...)."""
    values = values.to(x)
    return values.view(1, -1, *[1] * (x.dim() - 2)) if values.numel() > 1 else values
