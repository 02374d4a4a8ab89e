"""Images of a test set under a corruption."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli.corruptions.base import Corruption
from normbench_cli.datasets._images.batches import Standardize
from normbench_cli.engine.protocols import ImageData


class Corrupted:
    """A corruption of pixels as a disturbance of standardized inputs, which must come in the order of the test set."""

    def __init__(self, corruption: Corruption, data: ImageData, device: torch.device) -> None:
        self._corruption = corruption
        self._next = 0  # index of the next image in the test set
        self._standardize = Standardize(data.mean, data.std, device)
        self._mean, self._std = (torch.tensor(t, device=device).view(-1, 1, 1) for t in (data.mean, data.std))

    def __call__(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        pixels = ((x * self._std + self._mean) * 255).round().clamp(0, 255).to(torch.uint8)
        corrupted = self._corruption(pixels, self._next)
        self._next += len(x)
        return torch.empty_like(x).copy_(self._standardize(corrupted))  # keeps the memory format of x
