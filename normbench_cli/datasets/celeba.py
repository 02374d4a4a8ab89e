"""CelebA: faces with 40 attributes each, read image by image from the official files."""

from __future__ import annotations

from functools import partial

import torch
from PIL import Image

from normbench_cli.datasets._images.celeba_files import (
    ATTRIBUTES,
    IMAGES,
    PARTITION,
    check_names,
    ensure_files,
    read_attributes,
    read_partition,
)
from normbench_cli.datasets._images.crops import ImageSize, center_crop_box, random_resized_crop_box
from normbench_cli.datasets._images.files import ImageFiles, OnDamage
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.transforms import BILINEAR, random_hflip
from normbench_cli.errors import NormbenchError
from normbench_cli.paths import data_root
from normbench_cli.registry import DATASETS

TARGET = "Blond_Hair"
SIDES = {  # half of a group's name: (attribute, its value)
    "male": ("Male", True),
    "female": ("Male", False),
    "young": ("Young", True),
    "old": ("Young", False),
    "attractive": ("Attractive", True),
    "not_attractive": ("Attractive", False),
    "straight_hair": ("Straight_Hair", True),
    "wavy_hair": ("Wavy_Hair", True),
}
GROUPS = tuple(f"{side}_{hair}" for side in SIDES for hair in ("blond", "other"))
AREA, RATIO = (0.7, 1.0), (1.0, 1.3333333333333333)  # of the random crops


def training_transform(image: Image.Image, index: int, draw: int, *, size: int) -> Image.Image:
    box = random_resized_crop_box(image.size, index, draw, AREA, RATIO)
    return random_hflip(image.crop(box).resize((size, size), BILINEAR), index, draw, "crop_flip")


def evaluation_transform(image: Image.Image, _index: int, _draw: int, *, size: int) -> Image.Image:
    return image.crop(center_crop_box(image.size)).resize((size, size), BILINEAR)


@DATASETS.register(
    "celeba",
    paper="Liu et al. 2015; groups of Zhai et al. 2021",
    recipe="augnorm-celeba",
    files="normbench_cli.datasets._files.places:celeba",
)
def celeba(size: ImageSize = 224, shuffle: bool = True, damaged: OnDamage = "skip") -> StreamedImages:
    """Faces, blond or not, with 16 overlapping groups of sex, age, attractiveness and hair; official splits.

    The folder `celeba` in the data folder holds `img_align_celeba/`, `list_attr_celeba.txt` and
    `list_eval_partition.txt`: the official 162,770, 19,867 and 19,962 images, or fewer, of any size.  Training crops a
    fraction of 0.7 to 1 of the area at a ratio of 1 to 4/3 and mirrors half of the images; evaluation crops the central
    square (178 pixels of 178x218).  The AugNorm paper's "70 %, randomly sampled" is not the official split (E9).

    size: width and height after resizing; shuffle: false trains in the order of the files in every epoch, as DORO's
    code does; damaged: skip drops, reports and counts images that cannot be read; fail stops at the first.
    """
    folder = data_root() / "celeba"
    ensure_files(folder)
    parts = read_partition(folder / PARTITION)
    names, attributes = read_attributes(folder / ATTRIBUTES, [TARGET, *sorted({name for name, _ in SIDES.values()})])
    check_names(folder, names, parts)
    blond = attributes[TARGET]
    sides = torch.stack([attributes[name] == value for name, value in SIDES.values()], 1)
    groups = (sides.unsqueeze(2) & torch.stack([blond, ~blond], 1).unsqueeze(1)).flatten(1)  # in the order of GROUPS
    part_of_image = torch.tensor([parts[name] for name in names])

    def split(part: int) -> ImageFiles:
        chosen = (part_of_image == part).nonzero().flatten()
        kept = [names[i] for i in chosen.tolist()]
        if not kept:
            raise NormbenchError(f"{folder / PARTITION} puts no image into part {part}", "copy it again")
        transform = partial(evaluation_transform if part else training_transform, size=size)
        return ImageFiles(folder / IMAGES, kept, blond[chosen].long(), groups[chosen], size, transform)

    return StreamedImages(
        train=split(0),
        validation=split(1),
        test=split(2),
        classes=2,
        group_names=GROUPS,
        shuffle=shuffle,
        on_damage=damaged,
    )
