"""ImageNet (ILSVRC2012), from its folders or from the archives as they are published, which torchvision unpacks."""

from __future__ import annotations

import importlib
import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

from normbench_cli.datasets._images.files import OnDamage
from normbench_cli.datasets._images.memory import Augment
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.datasets._images.transforms import Crop, evaluation_view, training_view
from normbench_cli.datasets.folder import check_size, read_splits
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.paths import data_root, ensure_writable
from normbench_cli.registry import DATASETS

ARCHIVES = {"train": "ILSVRC2012_img_train.tar", "val": "ILSVRC2012_img_val.tar"}
DEVKIT, META = "ILSVRC2012_devkit_t12.tar.gz", "meta.bin"  # what torchvision makes of it: each val image's class
log = logging.getLogger(__name__)


@DATASETS.register("imagenet", paper="Russakovsky et al. 2015", recipe="popnorm-imagenet")
def imagenet(
    size: int = 224, augment: Augment = "crop_flip", crop: Crop = "popnorm", damaged: OnDamage = "skip"
) -> StreamedImages:
    """1,281,167 photographs in a thousand classes (ILSVRC2012), and the 50,000 of its validation set to test with.

    The folder `imagenet` of the data folder holds `train/` and `val/` with a folder of JPEG files for each class.  If
    one is missing and its official archive is there (for val also the development kit), it is unpacked first.

    size: of the images a network sees.  augment: none, flip (mirror every second image) or crop_flip (and crop by
    chance).  crop: popnorm brings an image to 256x256 whatever its proportions, and takes 224x224 of it, by chance in
    training and the middle in evaluation; resized is the customary way, a share of 0.08 to 1 of the area in training
    and, in evaluation, the middle after bringing the shorter side to 256.  damaged: skip leaves out an image that
    cannot be read, tells its name and counts it; fail stops at it.
    """
    check_size(size)
    place = data_root() / "imagenet"
    need_splits(place)
    classes, (train, test) = read_splits(
        [place / "train", place / "val"], [training_view(crop, size, augment), evaluation_view(crop, size)], size
    )
    return StreamedImages(train=train, test=test, classes=len(classes), on_damage=damaged)


def need_splits(place: Path) -> None:
    """Both splits as folders, unpacked if that is possible; else what to put where."""
    splits = [split for split in ARCHIVES if not (place / split).is_dir()]
    needed = [ARCHIVES[split] for split in splits]
    if "val" in splits and not (place / META).is_file():
        needed.append(DEVKIT)
    if missing := [name for name in needed if not (place / name).is_file()]:
        folders = " and ".join(f"{split}/" for split in splits)
        raise NormbenchError(
            f"ImageNet's {folders} not found in {place}, nor {', '.join(missing)}",
            "ImageNet cannot be downloaded by a program: register at image-net.org and put its archives, or train/ and "
            "val/ with a folder for each class, there, or set NORMBENCH_DATA to the folder above imagenet/",
        )
    for split in splits:
        unpack(place, split)


def unpack(place: Path, split: str) -> None:
    """By torchvision, which checks the archive first; aside, so that an interruption leaves no half of a split."""
    import_torchvision()
    tools: Any = importlib.import_module("torchvision.datasets.imagenet")
    ensure_writable(place, "NORMBENCH_DATA")
    aside = place / f"{split}.unpacking"
    log.warning("unpacking %s in %s; this takes a while, once", ARCHIVES[split], place)
    try:
        shutil.rmtree(aside, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python's, about how archives are unpacked
            if split == "train":
                tools.parse_train_archive(str(place), folder=aside.name)
            else:
                if not (place / META).is_file():
                    tools.parse_devkit_archive(str(place))
                tools.parse_val_archive(str(place), folder=aside.name)
        aside.rename(place / split)
    except Exception as error:  # an archive can be broken, and a disk full, in many ways
        raise NormbenchError(
            f"{place / ARCHIVES[split]} cannot be unpacked ({first_sentence(error)})",
            "see whether it is whole and the disk has room",
        ) from error
