"""CIFAR-10, CIFAR-100 and Fashion-MNIST, read, checked and downloaded by torchvision's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from normbench_cli.datasets._images.memory import Augment, Dataset, Split
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.paths import data_root, ensure_writable
from normbench_cli.registry import DATASETS

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


@DATASETS.register("cifar10", paper="Krizhevsky 2009", recipe="popnorm-cifar")
def cifar10(augment: Augment = "crop_flip", normalize: Literal["reference", "exact"] = "reference") -> Dataset:
    """50,000 training and 10,000 test photographs of 32x32 pixels in ten classes.

    augment: none, flip (mirror every second image) or crop_flip (and shift by up to four pixels).
    normalize: the constants of the reference code, whose sd are averages over images, or the data set's own.
    """
    reference = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
    return load("CIFAR10", "cifar-10-batches-py", augment, reference if normalize == "reference" else None)


@DATASETS.register("cifar100", paper="Krizhevsky 2009", recipe="popnorm-cifar")
def cifar100(augment: Augment = "crop_flip", normalize: Literal["reference", "exact"] = "reference") -> Dataset:
    """50,000 training and 10,000 test photographs of 32x32 pixels in a hundred classes.

    augment, normalize: as for cifar10; the reference constants are the customary ones.
    """
    reference = (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)
    return load("CIFAR100", "cifar-100-python", augment, reference if normalize == "reference" else None)


@DATASETS.register("fashionmnist", paper="Xiao et al. 2017", recipe="popnorm-cifar")
def fashionmnist(augment: Augment = "none") -> Dataset:
    """60,000 training and 10,000 test pictures of clothing, 28x28 grey pixels brought to 32x32 by a black border.

    augment: none, flip or crop_flip.
    """
    return load("FashionMNIST", "FashionMNIST", augment, None, border=2)


def load(name: str, folder: str, augment: Augment, statistics: Statistics | None, border: int = 0) -> Dataset:
    """Both splits of a torchvision data set; downloaded where it is missing and that is possible."""
    root = data_root()
    train, test = (read(name, root, folder, train) for train in (True, False))
    images = train.images.float() / 255
    own = tuple(images.mean((0, 2, 3)).tolist()), tuple(images.std((0, 2, 3)).tolist())
    mean, std = statistics or own
    if border:
        train, test = (
            Split(torch.nn.functional.pad(split.images, (border,) * 4), split.labels) for split in (train, test)
        )
    return Dataset(train, test, int(train.labels.max()) + 1, mean, std, augment=augment)


def read(name: str, root: Path, folder: str, train: bool) -> Split:
    """One split.  Where nothing is there it is downloaded; a download that was cut off goes on where it stopped."""
    place = root / folder
    there = [path.suffix for path in place.rglob("*") if path.is_file()]
    download = not there or ".gz" in there  # packed files are of a download, which unpacks them when they are whole
    kind: Any = getattr(import_torchvision().datasets, name)
    if not there:
        ensure_writable(root, "NORMBENCH_DATA")
    try:
        found = kind(str(root), train=train, download=download)
        pixels, labels = torch.from_numpy(np.asarray(found.data)), torch.as_tensor(found.targets).long()
        if len(pixels) != len(labels):
            raise ValueError(f"{len(pixels)} images and {len(labels)} labels")
    except Exception as error:  # a download can fail in as many ways as there are networks, a file in as many as bytes
        why = first_sentence(error)
        what, do = f"in {place} is incomplete or damaged ({why})", "remove that folder to download it, or copy it again"
        if not there:
            what = f"is not in {root} and cannot be downloaded ({why})"
            do = f"put {folder}/ there by hand{source_of(kind)}, or set NORMBENCH_DATA to the folder that holds it"
        raise NormbenchError(f"{name} {what}", do) from error
    images = pixels.permute(0, 3, 1, 2) if pixels.dim() == 4 else pixels.unsqueeze(1)
    return Split(images.contiguous(), labels)


def source_of(kind: Any) -> str:
    """Where torchvision would download it from."""
    addresses = [getattr(kind, "url", ""), *getattr(kind, "mirrors", [])]
    return next((f" (from {address})" for address in addresses if address), "")
