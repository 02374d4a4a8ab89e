"""Any folder of images: a folder for each split, in it one for each class, in these the image files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from normbench_cli.datasets._images.files import ImageFiles, OnDamage
from normbench_cli.datasets._images.memory import Augment
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.datasets._images.transforms import Crop, View, evaluation_view, training_view
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry import DATASETS


@DATASETS.register("folder", recipe="folder")
def folder(
    path: str = "",
    size: int = 224,
    augment: Augment = "crop_flip",
    crop: Crop = "popnorm",
    mean: str = "0.485/0.456/0.406",
    std: str = "0.229/0.224/0.225",
    damaged: OnDamage = "skip",
) -> StreamedImages:
    """Images of your own, folder:path=FOLDER, which holds train/CLASS/ and val/CLASS/ or test/CLASS/ with image files.

    With both val and test, the one chooses the epoch and the other gives the scores; both have train's classes.  The
    path is taken from the working folder and is part of the run's identity.  It ends at a comma: where the real one has
    a comma in it, make a link to it.

    size: of the images a network sees.  augment, crop: as for imagenet.  mean, std: of each channel of pixels in 0-1,
    parted by slashes, or one number for all; ImageNet's, unless they are given.  damaged: skip leaves out an image that
    cannot be read, tells its name and counts it; fail stops at it.
    """
    check_size(size)
    if not path:
        raise ValueError("which folder?  Write folder:path=FOLDER, with train/CLASS/ and test/CLASS/ in it")
    place = Path(path).expanduser()
    if not place.is_dir():
        raise UsageError(
            f"folder:path={path} is {'a file' if place.exists() else 'not there'}",
            "give the folder that holds train/ and val/ or test/; it is looked for from the working folder",
        )
    means, deviations = channels(mean, "mean"), channels(std, "std")
    if min(deviations) <= 0:
        raise ValueError(f"std={std} is not above 0")
    tests = [name for name in ("val", "test") if (place / name).is_dir()]
    if not (place / "train").is_dir() or not tests:
        lacking = "train/" if tests else "val/ or test/"
        raise NormbenchError(f"{place} has no {lacking}", "put the images into train/CLASS/ and test/CLASS/ there")
    classes, (train, *others) = read_splits(
        [place / "train", *(place / name for name in tests)],
        [training_view(crop, size, augment), *[evaluation_view(crop, size)] * len(tests)],
        size,
    )
    return StreamedImages(
        train=train,
        validation=others[0] if len(others) == 2 else None,
        test=others[-1],
        classes=len(classes),
        mean=means,
        std=deviations,
        on_damage=damaged,
    )


def check_size(size: int) -> None:
    if not 8 <= size <= 1024:
        raise ValueError(f"size is {size}; give 8 to 1024")


def channels(text: str, name: str) -> tuple[float, ...]:
    """``0.485/0.456/0.406``, or one number for all three."""
    try:
        values = tuple(map(float, text.split("/")))
    except ValueError:
        values = ()
    if len(values) not in (1, 3) or not all(map(math.isfinite, values)):
        raise ValueError(f"{name}={text} is not three numbers; write them as in {name}=0.5/0.4/0.3, or one for all")
    return values * (3 // len(values))


def read_splits(places: list[Path], views: list[View], size: int) -> tuple[list[str], list[ImageFiles]]:
    """The classes, which must be those of the first split in all, and the splits."""
    found = [images_in(place) for place in places]
    classes: list[str] = found[0].classes
    for place, images in zip(places, found, strict=True):
        if odd := sorted(set(images.classes) ^ set(classes)):
            which, other = (place, places[0]) if odd[0] in classes else (places[0], place)
            raise NormbenchError(
                f"{which} lacks the class '{odd[0]}' that {other} has ({len(odd)} such)",
                "every split needs a folder for each class; remove what is no class",
            )
    splits = []
    for place, images, view in zip(places, found, views, strict=True):
        inside = [path[len(str(place)) + 1 :] for path, _ in images.samples]
        splits.append(ImageFiles(place, inside, torch.tensor(images.targets), None, size, view))
    return classes, splits


def images_in(place: Path) -> Any:
    """A split as torchvision's ImageFolder finds it: `classes`, sorted; `samples`, the files' paths; `targets`."""
    try:
        if not any(entry.is_dir() for entry in place.iterdir()):
            raise NormbenchError(f"{place} has no folder for a class in it", "put every class's images into one")
        images = import_torchvision().datasets.ImageFolder(str(place), allow_empty=True)
    except OSError as error:
        raise NormbenchError(f"{place} cannot be read: {error.strerror}", "see who may read it") from error
    filled = set(images.targets)
    if empty := [name for number, name in enumerate(images.classes) if number not in filled]:
        raise NormbenchError(
            f"the class '{empty[0]}' of {place} has no image ({len(empty)} of {len(images.classes)} classes)",
            f"put {', '.join(images.extensions)} files there, or remove its folder",
        )
    return images
