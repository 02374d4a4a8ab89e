"""What attacks share: the space their sizes are meant in, their range, and a model that they leave as it was."""

from __future__ import annotations

import torch
from torch import Tensor, nn

GALLOWAY = 2.0  # his range in normalized space
HAIR = 1e-6  # of the pixels' range: a clean value outside by so little is there by rounding, and is not clipped


class Space(nn.Module):
    """Sizes and ranges of inputs that were standardized by (x - mean) / std from pixels in 0-1.

    space: `normalized`, an amount is meant as it is; `pixel`, it is meant in pixels, so it is divided by std.
    clip: `data_range`, what pixels in 0-1 become; `galloway`, [-2, 2], which also moves clean values outside it;
    `none`.  mean and std, one number a channel, come with the data; without them a normalized batch's own range per
    channel is the data range, and in pixel space the inputs are taken to be pixels.
    """

    low: Tensor
    high: Tensor
    deviation: Tensor

    def __init__(
        self, space: str, clip: str, mean: tuple[float, ...] | None = None, std: tuple[float, ...] | None = None
    ) -> None:
        super().__init__()
        if (mean is None) != (std is None) or (mean and std and len(mean) != len(std)):
            raise ValueError("mean and std belong together; give one number a channel of each, or neither")
        if std and min(std) <= 0:
            raise ValueError(f"a std is {min(std):g}; give numbers above 0")
        self.space, self.clip_to = space, clip
        self.known = mean is not None or space == "pixel"
        centre, deviation = torch.tensor(mean or (0.0,)), torch.tensor(std or (1.0,))
        low, high = -centre / deviation, (1 - centre) / deviation
        for name, value in (("low", low), ("high", high), ("deviation", deviation)):
            self.register_buffer(name, value, persistent=False)

    def amount(self, size: float, x: Tensor) -> float | Tensor:
        """A size of this space as one of the inputs `x`."""
        return size / channelwise(self.deviation, x) if self.space == "pixel" else size

    def clip(self, x: Tensor, clean: Tensor | None = None) -> Tensor:
        """`x` inside the range; a range that is not known is taken from the clean batch."""
        if self.clip_to == "none":
            return x
        if self.clip_to == "galloway":
            return x.clamp(-GALLOWAY, GALLOWAY)
        clean = x if clean is None else clean
        if not self.known:
            over = [d for d in range(x.dim()) if d != 1]
            return torch.clamp(x, clean.amin(over, keepdim=True), clean.amax(over, keepdim=True))
        low, high, hair = (channelwise(t, x) for t in (self.low, self.high, HAIR / self.deviation))
        low = torch.minimum(low, torch.maximum(clean, low - hair))
        high = torch.maximum(high, torch.minimum(clean, high + hair))
        return torch.clamp(x, low, high)


def channelwise(values: Tensor, x: Tensor) -> Tensor:
    """One value a channel, shaped to meet inputs (N, C, ...)."""
    values = values.to(x)
    return values.view(1, -1, *[1] * (x.dim() - 2)) if values.numel() > 1 else values
