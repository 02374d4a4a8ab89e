"""CIFAR-10, CIFAR-100 and Fashion-MNIST, which torchvision's own classes download, verify and read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from normbench_cli.datasets._images.crops import Augment
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.paths import data_root, ensure_writable
from normbench_cli.registry import DATASETS
from normbench_cli.registry.bounds import Bounds

Normalize = Literal["reference", "exact", "none"]
TestImages = Annotated[int | None, Bounds(least=1, most=10_000)]
Statistics = tuple[tuple[float, ...], tuple[float, ...]]  # mean and sd of each channel


@DATASETS.register(
    "cifar10", paper="Krizhevsky 2009", recipe="popnorm-cifar", files="normbench_cli.datasets._files.places:cifar10"
)
def cifar10(
    augment: Augment = "crop_flip", normalize: Normalize = "reference", test_images: TestImages = None
) -> InMemoryImages:
    """50,000 training and 10,000 test photographs of 32x32 pixels in ten classes.

    augment: none, flip (mirror half of the images) or crop_flip (also shift them by up to four pixels).
    normalize: reference: the constants of the reference code, whose sd are averages over images; exact: those of the
    data; none: pixels from 0 to 1.
    test_images: use only this many test images, the first of the file; none: all.  For slow attacks.
    """
    reference = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
    return load("CIFAR10", "cifar-10-batches-py", augment, constants(normalize, reference), test_images)


@DATASETS.register(
    "cifar100", paper="Krizhevsky 2009", recipe="popnorm-cifar", files="normbench_cli.datasets._files.places:cifar100"
)
def cifar100(
    augment: Augment = "crop_flip", normalize: Normalize = "reference", test_images: TestImages = None
) -> InMemoryImages:
    """50,000 training and 10,000 test photographs of 32x32 pixels in a hundred classes.

    augment, normalize, test_images: as for cifar10; the reference constants are the usual ones.
    """
    reference = (0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)
    return load("CIFAR100", "cifar-100-python", augment, constants(normalize, reference), test_images)


@DATASETS.register(
    "fashionmnist",
    paper="Xiao et al. 2017",
    recipe="popnorm-cifar",
    files="normbench_cli.datasets._files.places:fashionmnist",
)
def fashionmnist(augment: Augment = "none", test_images: TestImages = None) -> InMemoryImages:
    """60,000 training and 10,000 test pictures of clothing, 28x28 gray pixels padded to 32x32 with black.

    augment: none, flip or crop_flip; test_images: as for cifar10.
    """
    return load("FashionMNIST", "FashionMNIST", augment, None, test_images, padding=2)


def constants(normalize: Normalize, reference: Statistics) -> Statistics | None:
    """The statistics to standardize pixels by; None for the exact ones of the data."""
    return {"reference": reference, "exact": None, "none": ((0.0,) * 3, (1.0,) * 3)}[normalize]


def load(
    name: str,
    folder: str,
    augment: Augment,
    statistics: Statistics | None,
    test_images: TestImages,
    padding: int = 0,
) -> InMemoryImages:
    """Load both splits of a torchvision data set; download them if they are missing.

    statistics: None: those of the training images, before padding.
    """
    root = data_root()
    train, test = (read(name, root, folder, train) for train in (True, False))
    test = Split(test.images[:test_images], test.labels[:test_images])
    images = train.images.float() / 255
    exact = tuple(images.mean((0, 2, 3)).tolist()), tuple(images.std((0, 2, 3)).tolist())
    mean, std = statistics or exact
    if padding:
        train, test = (
            Split(torch.nn.functional.pad(split.images, (padding,) * 4), split.labels) for split in (train, test)
        )
    return InMemoryImages(train, test, int(train.labels.max()) + 1, mean, std, augment=augment)


def read(name: str, root: Path, folder: str, train: bool) -> Split:
    """Read one split.  It is downloaded if nothing is there; an interrupted download is resumed."""
    place = root / folder
    suffixes = [path.suffix for path in place.rglob("*") if path.is_file()]
    download = not suffixes or ".gz" in suffixes  # an interrupted download leaves archives
    dataset_class: Any = getattr(import_torchvision().datasets, name)
    if not suffixes:
        ensure_writable(root, "NORMBENCH_DATA")
    try:
        found = dataset_class(str(root), train=train, download=download)
        pixels, labels = torch.from_numpy(np.asarray(found.data)), torch.as_tensor(found.targets).long()
        if len(pixels) != len(labels):
            raise ValueError(f"{len(pixels)} images and {len(labels)} labels")
    except Exception as error:  # networks and damaged files fail in too many ways to list
        why = first_sentence(error)
        what = f"in {place} is incomplete or damaged ({why})"
        hint = "remove that folder to download it again, or copy it again"
        if not suffixes:
            what = f"is not in {root} and cannot be downloaded ({why})"
            hint = (
                f"put {folder}/ there by hand{download_address(dataset_class)}, "
                "or set NORMBENCH_DATA to the folder that holds it"
            )
        raise NormbenchError(f"{name} {what}", hint) from error
    images = pixels.permute(0, 3, 1, 2) if pixels.dim() == 4 else pixels.unsqueeze(1)
    return Split(images.contiguous(), labels)


def download_address(dataset_class: Any) -> str:
    """The URL that torchvision downloads it from, in parentheses."""
    addresses = [getattr(dataset_class, "url", ""), *getattr(dataset_class, "mirrors", [])]
    return next((f" (from {address})" for address in addresses if address), "")
