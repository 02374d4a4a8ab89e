"""The corrupted test sets as they were published, CIFAR-10-C and CIFAR-100-C, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from normbench_cli.corruptions.base import SEVERITIES, Array, Corruption
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


class Published(Corruption):
    """The test images of a data set as a published file has them: `<name>.npy`, the whole set once for each severity.

    The images that are given are not looked at: only their place in the test set matters.
    """

    data: ClassVar[str]  # the data set whose test images these are
    folder: ClassVar[str]
    archive: ClassVar[str]

    def __init__(self, name: Name, severity: int) -> None:
        super().__init__(severity)
        self.name = name

    def corrupt(self, images: Tensor, first: int) -> Tensor:
        stored = read(self.path(self.name))
        start = (self.severity - 1) * (len(stored) // len(SEVERITIES)) + first
        rows = torch.from_numpy(np.array(stored[start : start + len(images)]))
        return rows.permute(0, 3, 1, 2).contiguous().to(images.device)

    def check(self, data_name: str, data: Any) -> None:
        if data_name != self.data:
            raise UsageError(
                f"{self.folder} is made of {self.data}'s test images, and the run's data is {data_name}",
                "name corruptions without it, such as fog, or all; they are generated for any images",
            )
        labels, images = read(self.path("labels")), read(self.path(self.name))
        whole = len(SEVERITIES) * len(data.test)
        if images.dtype != np.uint8 or images.shape != (whole, *data.shape[1:], data.channels):
            raise damaged(self.path(self.name), f"holds {images.dtype} of shape {images.shape}")
        if not np.array_equal(labels, np.tile(data.test.labels.numpy(), len(SEVERITIES))):
            raise damaged(self.path("labels"), f"does not hold the labels of {self.data}'s test images, five times")

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
        """The corruptions whose files are there, in the paper's order."""
        cls.path("labels")
        there = [name for name in get_args(Name) if (data_root() / cls.folder / f"{name}.npy").is_file()]
        return there or [get_args(Name)[0]]  # which is then said to be missing


@CORRUPTIONS.register("cifar10c", paper="Hendrycks & Dietterich 2019", data="cifar10")
class Cifar10C(Published):
    """CIFAR-10-C as published, for cifar10: CIFAR-10-C/<name>.npy and labels.npy in the data folder."""

    data, folder, archive = "cifar10", "CIFAR-10-C", "CIFAR-10-C.tar (Zenodo record 2535967)"


@CORRUPTIONS.register("cifar100c", paper="Hendrycks & Dietterich 2019", data="cifar100")
class Cifar100C(Published):
    """CIFAR-100-C as published, for cifar100: CIFAR-100-C/<name>.npy and labels.npy in the data folder."""

    data, folder, archive = "cifar100", "CIFAR-100-C", "CIFAR-100-C.tar (Zenodo record 3555552)"


def read(path: Path) -> Array:
    """A file's numbers, left on the disk until they are asked for."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise damaged(path, "ends early or is no .npy file") from error


def damaged(path: Path, what: str) -> NormbenchError:
    return NormbenchError(f"{path} {what}", "unpack it again from the archive")
