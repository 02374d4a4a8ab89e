"""The published corrupted test sets, CIFAR-10-C and CIFAR-100-C, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from normbench_cli.corruptions.base import SEVERITIES, CorruptibleData, Corruption, Severity
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.paths import data_root
from normbench_cli.registry import CORRUPTIONS

Name = Literal[
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
    "speckle_noise",
    "gaussian_blur",
    "spatter",
    "saturate",
]


class PublishedCorruption(Corruption):
    """A data set's test images from a published file, `<name>.npy`, which holds the whole set once per severity.

    The pixels of the images that are passed are ignored: only their index in the test set matters.
    """

    data: ClassVar[str]  # the data set whose test images these are
    folder: ClassVar[str]
    archive: ClassVar[str]

    def __init__(self, name: Name, severity: Severity) -> None:
        super().__init__(severity)
        self.name = name

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        stored = read_array(self.path(self.name))
        start = (self.severity - 1) * (len(stored) // len(SEVERITIES)) + first
        rows = torch.from_numpy(np.array(stored[start : start + len(images)]))
        return rows.permute(0, 3, 1, 2).contiguous().to(images.device)

    def check_data(self, data_name: str, data: CorruptibleData) -> None:
        if data_name != self.data:
            raise UsageError(
                f"{self.folder} is made of {self.data}'s test images, and the run's data is {data_name}",
                "use corruptions without it, such as fog, or all; they are generated for any images",
            )
        labels, images = read_array(self.path("labels")), read_array(self.path(self.name))
        whole = len(SEVERITIES) * len(data.test)
        if images.dtype != np.uint8 or images.shape != (whole, *data.shape[1:], data.channels):
            raise damaged_file(self.path(self.name), f"holds {images.dtype} of shape {images.shape}")
        if not np.array_equal(labels, np.tile(data.test.labels.numpy(), len(SEVERITIES))):
            raise damaged_file(
                self.path("labels"), f"does not hold the labels of {self.data}'s test images, five times"
            )

    @classmethod
    def path(cls, name: str) -> Path:
        place = data_root() / cls.folder
        path = place / f"{name}.npy"
        if not path.is_file():
            raise NormbenchError(
                f"{path if place.is_dir() else place} is not there",
                f"unpack {cls.archive} in {data_root()}, or set NORMBENCH_DATA to the folder that holds {cls.folder}/",
            )
        return path

    @classmethod
    def names(cls) -> list[str]:
        """The corruptions whose files exist, in the paper's order; if there are none, the first one, whose file is
        then reported as missing."""
        cls.path("labels")
        present = [name for name in get_args(Name) if (data_root() / cls.folder / f"{name}.npy").is_file()]
        return present or [get_args(Name)[0]]


@CORRUPTIONS.register("cifar10c", paper="Hendrycks & Dietterich 2019", data="cifar10")
class Cifar10C(PublishedCorruption):
    """CIFAR-10-C as published, for cifar10: CIFAR-10-C/<name>.npy and labels.npy in the data folder."""

    data = "cifar10"
    folder = "CIFAR-10-C"
    archive = "CIFAR-10-C.tar (Zenodo record 2535967)"


@CORRUPTIONS.register("cifar100c", paper="Hendrycks & Dietterich 2019", data="cifar100")
class Cifar100C(PublishedCorruption):
    """CIFAR-100-C as published, for cifar100: CIFAR-100-C/<name>.npy and labels.npy in the data folder."""

    data = "cifar100"
    folder = "CIFAR-100-C"
    archive = "CIFAR-100-C.tar (Zenodo record 3555552)"


def read_array(path: Path) -> NDArray[Any]:
    """Memory-map the array in a file."""
    try:
        stored: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise damaged_file(path, "ends early or is no .npy file") from error
    return stored


def damaged_file(path: Path, what: str) -> NormbenchError:
    return NormbenchError(f"{path} {what}", "unpack it again from the archive")
