"""A folder of the user's own images: one subfolder per split, and in it one per class."""

from __future__ import annotations

import math

from normbench_cli.datasets._images.class_folders import read_splits
from normbench_cli.datasets._images.crops import Augment, ImageSize
from normbench_cli.datasets._images.files import OnDamage
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.transforms import Crop, evaluation_transform, training_transform
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.paths import expanded
from normbench_cli.registry import DATASETS


@DATASETS.register("folder", recipe="folder", files="normbench_cli.datasets._files.places:folder")
def folder(
    path: str = "",
    size: ImageSize = 224,
    augment: Augment = "crop_flip",
    crop: Crop = "popnorm",
    mean: str = "0.485/0.456/0.406",
    std: str = "0.229/0.224/0.225",
    damaged: OnDamage = "skip",
) -> StreamedImages:
    """Your own images: folder:path=FOLDER, which holds train/CLASS/ and val/CLASS/ or test/CLASS/ with image files.

    If both val and test exist, val selects the epoch and test gives the scores.  Both need the classes of train.
    The path is relative to the working folder.  It is part of the run's identity, as are the files.  Write a comma in
    it as `\\,`.

    size: of the images that the network sees.  augment, crop: as for imagenet.  mean, std: of each channel of pixels in
    0-1, separated by slashes, or one number for all channels; ImageNet's by default.  damaged: skip drops, reports and
    counts images that cannot be read; fail stops at the first.
    """
    if not path:
        raise ValueError("which folder?  Write folder:path=FOLDER, with train/CLASS/ and test/CLASS/ in it")
    root = expanded(path)
    if not root.is_dir():
        raise UsageError(
            f"folder:path={path} is {'a file' if root.exists() else 'not there'}",
            "give the folder that holds train/ and val/ or test/, relative to the working folder",
        )
    means, stds = parse_channels(mean, "mean"), parse_channels(std, "std")
    if min(stds) <= 0:
        raise ValueError(f"std={std} is not above 0")
    held_out = [name for name in ("val", "test") if (root / name).is_dir()]
    if not (root / "train").is_dir() or not held_out:
        lacking = "train/" if held_out else "val/ or test/"
        raise NormbenchError(f"{root} has no {lacking}", "put the images into train/CLASS/ and test/CLASS/ there")
    classes, (train, *others) = read_splits(
        [root / "train", *(root / name for name in held_out)],
        [training_transform(crop, size, augment), *[evaluation_transform(crop, size)] * len(held_out)],
        size,
    )
    return StreamedImages(
        train=train,
        validation=others[0] if len(others) == 2 else None,
        test=others[-1],
        classes=len(classes),
        mean=means,
        std=stds,
        on_damage=damaged,
    )


def parse_channels(text: str, name: str) -> tuple[float, ...]:
    """``0.485/0.456/0.406``, or one number for all three channels."""
    try:
        values = tuple(map(float, text.split("/")))
    except ValueError:
        values = ()
    if len(values) not in (1, 3) or not all(map(math.isfinite, values)):
        raise ValueError(f"{name}={text} is not three numbers; write them as in {name}=0.5/0.4/0.3, or one for all")
    return values * (3 // len(values))
