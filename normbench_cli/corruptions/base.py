"""The base of all corruptions: a severity, a random stream for each image, and rounding as in the published files.

The families, their definitions and their parameters are those of Hendrycks & Dietterich, "Benchmarking Neural Network
Robustness to Common Corruptions and Perturbations" (2019).  Their code needs OpenCV, scikit-image and ImageMagick,
which pip cannot install.  Here they are reimplemented with NumPy, SciPy and Pillow, so that every installation can
corrupt images and all random numbers come from one generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from normbench_cli.errors import UsageError
from normbench_cli.registry.bounds import Bounds, Seed

SEVERITIES = (1, 2, 3, 4, 5)
Severity = Annotated[int, Bounds(least=1, most=5)]
CIFAR_MAX_SIDE = 64  # images whose shorter side is at most this use CIFAR-10-C's parameters
LUMA_WEIGHTS = (0.299, 0.587, 0.114)  # of red, green and blue
Image = NDArray[np.uint8]  # (H, W, C)
Pixels = NDArray[np.float64]  # (H, W, C), 0-1
Table = Literal["auto", "cifar", "imagenet"]


class CorruptibleData(Protocol):
    """The attributes of a data set that a corruption reads."""

    @property
    def channels(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image: channels, height, width."""
        ...

    @property
    def test(self) -> Any:
        """The test split, of the data set's own type."""
        ...


class Corruption:
    """Corrupts images (N, C, H, W), given as uint8 or as floating-point numbers in 0-1; the result has the same type.

    severity: 1 to 5.
    """

    def __init__(self, severity: int) -> None:
        self.severity = severity

    def __call__(self, images: Tensor, first: int = 0) -> Tensor:
        """first: the index of the first of these images in the test set."""
        if images.dim() != 4:
            raise UsageError(f"images of shape {tuple(images.shape)} cannot be corrupted", "give them as (N, C, H, W)")
        if not images.is_floating_point():
            return self.corrupt(images, first)
        whole = (images * 255).round().clamp(0, 255).to(torch.uint8)
        return self.corrupt(whole, first).to(images.dtype) / 255

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        """`__call__` for uint8 images."""
        raise NotImplementedError

    def check_data(self, data_name: str, data: CorruptibleData) -> None:
        """Raise an error, before any work is done, if the images of this data set cannot be corrupted."""


class GeneratedCorruption(Corruption):
    """A corruption that is computed image by image, on the CPU.

    Each image has its own random stream, seeded by `seed` and the image's index in the test set.  So the result does
    not depend on batch size or device, and severities differ in strength, not in their random draws.  Values are
    truncated to integers, not rounded, as in the published files.

    severity: 1 to 5; seed: of the random streams; table: parameters of CIFAR-10-C (cifar) or ImageNet-C (imagenet), or
    chosen by the images' shorter side, CIFAR-10-C's up to 64 pixels (auto).
    """

    cifar: ClassVar[Sequence[Any]]  # the parameters of each severity, for `corrupt_image`
    imagenet: ClassVar[Sequence[Any]]
    channels: ClassVar[tuple[int, ...]] = ()  # the permitted numbers of channels; empty permits any

    def __init__(self, severity: Severity, seed: Seed = 0, table: Table = "auto") -> None:
        super().__init__(severity)
        self.seed = seed
        self.table = table

    def corrupt_image(self, image: Image, level: Any, rng: np.random.Generator) -> Image | Pixels:
        """One image, corrupted.  Floating-point results are clipped to 0-1 afterwards.

        level: the parameters of the severity, an entry of `cifar` or `imagenet`.
        """
        raise NotImplementedError

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        self.check_channels(images.shape[1])
        level = self.level(min(images.shape[2:]))
        pixels = images.permute(0, 2, 3, 1).contiguous().cpu().numpy()
        corrupted = np.empty_like(pixels)
        for position, image in enumerate(pixels):
            stream = np.random.Philox(key=np.array([self.seed, first + position], dtype=np.uint64))
            found = self.corrupt_image(image, level, np.random.Generator(stream))
            corrupted[position] = found if found.dtype == np.uint8 else np.clip(found, 0, 1) * 255
        return torch.from_numpy(corrupted).permute(0, 3, 1, 2).contiguous().to(images.device)

    def level(self, side: int) -> Any:
        """The published parameters for images of this size."""
        return (self.cifar if self.uses_cifar_table(side) else self.imagenet)[self.severity - 1]

    def uses_cifar_table(self, side: int) -> bool:
        return self.table == "cifar" or (self.table == "auto" and side <= CIFAR_MAX_SIDE)

    def check_data(self, data_name: str, data: CorruptibleData) -> None:
        self.check_channels(data.channels)

    def check_channels(self, channels: int) -> None:
        if self.channels and channels not in self.channels:
            entry = getattr(type(self), "normbench_entry", None)  # set by the registry; an outside class may have none
            raise UsageError(
                f"{entry.name if entry else type(self).__name__} is not defined for images of {channels} channel(s)",
                f"it takes {' or '.join(map(str, self.channels))}",
            )


def luma(pixels: Pixels) -> Pixels:
    """The brightness of every pixel, (H, W, 1); an image of one channel is returned as it is."""
    if pixels.shape[2] != 3:
        return pixels
    weighted: Pixels = (pixels @ np.array(LUMA_WEIGHTS))[..., None]
    return weighted


def color_for(color: Sequence[float], channels: int) -> NDArray[np.float64]:
    """An RGB color (0-255) as values in 0-1: three for a color image, its luma for a gray one."""
    values = np.array(color) / 255
    return values if channels == 3 else np.array([values @ np.array(LUMA_WEIGHTS)])
