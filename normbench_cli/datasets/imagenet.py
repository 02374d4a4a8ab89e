"""ImageNet (ILSVRC2012), from its folders or from its official archives, which torchvision unpacks."""

from __future__ import annotations

import importlib
import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

from normbench_cli.datasets._images.class_folders import read_splits
from normbench_cli.datasets._images.crops import Augment, ImageSize
from normbench_cli.datasets._images.files import OnDamage
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.datasets._images.transforms import Crop, evaluation_transform, training_transform
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.paths import data_root, ensure_writable
from normbench_cli.registry import DATASETS

ARCHIVES = {"train": "ILSVRC2012_img_train.tar", "val": "ILSVRC2012_img_val.tar"}
DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"
META = "meta.bin"  # written by torchvision from the development kit: the class of each val image
log = logging.getLogger(__name__)


@DATASETS.register(
    "imagenet",
    paper="Russakovsky et al. 2015",
    recipe="popnorm-imagenet",
    files="normbench_cli.datasets._files.places:imagenet",
)
def imagenet(
    size: ImageSize = 224, augment: Augment = "crop_flip", crop: Crop = "popnorm", damaged: OnDamage = "skip"
) -> StreamedImages:
    """1,281,167 photographs in 1,000 classes (ILSVRC2012); its validation set of 50,000 is the test set.

    The folder `imagenet` in the data folder holds `train/` and `val/` with a folder of JPEG files for each class.  If
    one is missing and its official archive exists (for val also the development kit), it is unpacked first.

    size: of the images that the network sees.  augment: none, flip (mirror half of the images) or crop_flip (also crop
    at random).  crop: popnorm resizes an image to 256x256 regardless of its aspect ratio and crops 224x224, at random
    in training and centrally in evaluation; resized is the usual way, a random 0.08 to 1 of the area in training and,
    in evaluation, the center after resizing the shorter side to 256.  damaged: skip drops, reports and counts images
    that cannot be read; fail stops at the first.
    """
    root = data_root() / "imagenet"
    ensure_splits(root)
    classes, (train, test) = read_splits(
        [root / "train", root / "val"],
        [training_transform(crop, size, augment), evaluation_transform(crop, size)],
        size,
    )
    return StreamedImages(train=train, test=test, classes=len(classes), on_damage=damaged)


def ensure_splits(root: Path) -> None:
    """Unpack the splits whose folders are missing; if their archives are missing too, say what to put where."""
    splits = [split for split in ARCHIVES if not (root / split).is_dir()]
    needed = [ARCHIVES[split] for split in splits]
    if "val" in splits and not (root / META).is_file():
        needed.append(DEVKIT)
    if missing := [name for name in needed if not (root / name).is_file()]:
        folders = " and ".join(f"{split}/" for split in splits)
        raise NormbenchError(
            f"ImageNet's {folders} not found in {root}, nor {', '.join(missing)}",
            "ImageNet has no public download: register at image-net.org and put its archives there, or train/ and val/ "
            "with a folder for each class, or set NORMBENCH_DATA to the folder above imagenet/",
        )
    for split in splits:
        unpack(root, split)


def unpack(root: Path, split: str) -> None:
    """Let torchvision verify and unpack an archive, into a temporary folder that is renamed at the end: an interruption
    leaves no partial split."""
    import_torchvision()
    tools: Any = importlib.import_module("torchvision.datasets.imagenet")
    ensure_writable(root, "NORMBENCH_DATA")
    unfinished = root / f"{split}.unpacking"
    log.warning("unpacking %s in %s; this takes a while, but only once", ARCHIVES[split], root)
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python's, about tarfile's filters
            if split == "train":
                tools.parse_train_archive(str(root), folder=unfinished.name)
            else:
                if not (root / META).is_file():
                    tools.parse_devkit_archive(str(root))
                tools.parse_val_archive(str(root), folder=unfinished.name)
        unfinished.rename(root / split)
    except Exception as error:  # broken archives and full disks raise many kinds of errors
        raise NormbenchError(
            f"{root / ARCHIVES[split]} cannot be unpacked ({first_sentence(error)})",
            "check that it is complete and that the disk has room",
        ) from error
