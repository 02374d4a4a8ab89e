"""What corruptions share: a severity, randomness that belongs to each image alone, and the published way to round.

The families, their definitions and the tables of their strengths are those of Hendrycks & Dietterich, "Benchmarking
Neural Network Robustness to Common Corruptions and Perturbations" (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from normbench_cli.errors import UsageError

SEVERITIES = (1, 2, 3, 4, 5)
SMALL = 64  # images whose shorter side is at most this long take CIFAR-10-C's strengths, larger ones ImageNet-C's
LUMA = (0.299, 0.587, 0.114)  # what red, green and blue add to brightness
Array = np.ndarray[Any, Any]
Table = Literal["auto", "cifar", "imagenet"]


class Corruption:
    """Images in, the same images corrupted out: uint8 (N, C, H, W), or pixels 0-1 as floating-point numbers.

    severity: 1 to 5.
    """

    def __init__(self, severity: int) -> None:
        if severity not in SEVERITIES:
            raise ValueError(f"severity is {severity}; give 1 to 5")
        self.severity = severity

    def __call__(self, images: Tensor, first: int = 0) -> Tensor:
        """`first`: where in the test set the first of these images stands."""
        if images.dim() != 4:
            raise UsageError(f"images of shape {tuple(images.shape)} cannot be corrupted", "give them as (N, C, H, W)")
        if not images.is_floating_point():
            return self.corrupt(images, first)
        whole = (images * 255).round().clamp(0, 255).to(torch.uint8)
        return self.corrupt(whole, first).to(images.dtype) / 255

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        """The same for uint8 images."""
        raise NotImplementedError

    def check(self, data_name: str, data: Any) -> None:
        """Say in one line why the images of this data set cannot be corrupted so, before any work is done."""


class Generated(Corruption):
    """A corruption computed image by image.

    Each image has a random stream of its own, from the seed and its place in the test set: it comes out the same in a
    batch of any size, on any device, and a severity differs from another by its strength, not by other draws.  The work
    is done on the CPU.  Values are cut off to whole numbers, not rounded, as the published files were made.

    severity: 1 to 5; seed: of the randomness; table: strengths of CIFAR-10-C (cifar), of ImageNet-C (imagenet), or by
    the shorter side of the images, CIFAR-10-C's up to 64 pixels (auto).
    """

    cifar: ClassVar[Sequence[Any]]
    imagenet: ClassVar[Sequence[Any]]
    channels: ClassVar[tuple[int, ...]] = ()  # how many the images may have; empty: any number

    def __init__(self, severity: int, seed: int = 0, table: Table = "auto") -> None:
        super().__init__(severity)
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed is {seed}; give 0 or more")
        self.seed, self.table = seed, table

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        self.need_channels(images.shape[1])
        level = self.level(min(images.shape[2:]))
        pixels = images.permute(0, 2, 3, 1).contiguous().cpu().numpy()
        changed = np.empty_like(pixels)
        for place, image in enumerate(pixels):
            stream = np.random.Philox(key=np.array([self.seed, first + place], dtype=np.uint64))
            found = self.change(image, level, np.random.Generator(stream))
            changed[place] = found if found.dtype == np.uint8 else np.clip(found, 0, 1) * 255
        return torch.from_numpy(changed).permute(0, 3, 1, 2).contiguous().to(images.device)

    def level(self, side: int) -> Any:
        """The published strength for images of this size."""
        return (self.cifar if self.takes_cifar(side) else self.imagenet)[self.severity - 1]

    def takes_cifar(self, side: int) -> bool:
        return self.table == "cifar" or (self.table == "auto" and side <= SMALL)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        """One image, uint8 (H, W, C), corrupted: as uint8, or as floating-point numbers, cut off to 0-1 afterwards."""
        raise NotImplementedError

    def check(self, data_name: str, data: Any) -> None:
        self.need_channels(data.channels)

    def need_channels(self, channels: int) -> None:
        if self.channels and channels not in self.channels:
            kind = getattr(type(self), "normbench_entry", None)
            raise UsageError(
                f"{kind.name if kind else type(self).__name__} is not defined for images of {channels} channel(s)",
                f"it takes {' or '.join(map(str, self.channels))}",
            )


def grey(image: Array) -> Array:
    """The brightness of every pixel, (H, W, 1); an image of one channel is its own."""
    return (image @ np.array(LUMA))[..., None] if image.shape[2] == 3 else image


def coloured(colour: Sequence[float], channels: int) -> Array:
    """A colour given in red, green, blue (0-255) for an image of three channels, or its brightness for one of one."""
    values = np.array(colour) / 255
    return values if channels == 3 else np.array([values @ np.array(LUMA)])
