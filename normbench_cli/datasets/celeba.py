"""CelebA: faces with 40 attributes each, read image by image from the files as they are published."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from normbench_cli.datasets._images.crops import central, random_share
from normbench_cli.datasets._images.files import ImageFiles, OnDamage
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.datasets._images.transforms import BILINEAR, mirrored
from normbench_cli.errors import NormbenchError
from normbench_cli.paths import data_root
from normbench_cli.registry import DATASETS

IMAGES, ATTRIBUTES, PARTITION = "img_align_celeba", "list_attr_celeba.txt", "list_eval_partition.txt"
TARGET = "Blond_Hair"
SIDES = {  # a group's side of an attribute: (attribute, its value)
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


def training_view(image: Image.Image, index: int, draw: int, *, size: int) -> Image.Image:
    image = image.crop(random_share(image.size, index, draw, AREA, RATIO)).resize((size, size), BILINEAR)
    return mirrored(image, index, draw, "crop_flip")


def evaluation_view(image: Image.Image, index: int, draw: int, *, size: int) -> Image.Image:
    return image.crop(central(image.size)).resize((size, size), BILINEAR)


@DATASETS.register("celeba", paper="Liu et al. 2015; groups of Zhai et al. 2021", recipe="augnorm-celeba")
def celeba(size: int = 224, shuffle: bool = True, damaged: OnDamage = "skip", root: str = "") -> StreamedImages:
    """Faces, blond or not, with 16 overlapping groups of sex, age, attractiveness and hair; official splits.

    The folder `celeba` of the data folder holds `img_align_celeba/`, `list_attr_celeba.txt` and
    `list_eval_partition.txt`: the official 162,770, 19,867 and 19,962 images, or fewer, of any size.  Training crops a
    share of 0.7 to 1 of the area at a ratio of 1 to 4/3 and mirrors every second image; evaluation takes the central
    square (178 pixels of 178x218).  The AugNorm paper's "70 %, randomly sampled" is not the official split (E9).

    size: width and height after resizing; shuffle: false trains in the order of the files in every epoch, as the code
    of DORO does; damaged: skip leaves out an image that cannot be read, fail stops at it; root: the data folder, given
    by the program.
    """
    if not 8 <= size <= 1024:
        raise ValueError(f"size is {size}; give 8 to 1024")
    folder = (Path(root) if root else data_root()) / "celeba"
    need_files(folder)
    parts = read_partition(folder / PARTITION)
    names, attributes = read_attributes(folder / ATTRIBUTES, [TARGET, *sorted({name for name, _ in SIDES.values()})])
    check_names(folder, names, parts)
    blond = attributes[TARGET]
    sides = torch.stack([attributes[name] == value for name, value in SIDES.values()], 1)
    groups = (sides.unsqueeze(2) & torch.stack([blond, ~blond], 1).unsqueeze(1)).flatten(1)
    part = torch.tensor([parts[name] for name in names])

    def split(number: int) -> ImageFiles:
        chosen = (part == number).nonzero().flatten()
        kept = [names[i] for i in chosen.tolist()]
        if not kept:
            raise NormbenchError(f"{folder / PARTITION} puts no image into part {number}", "copy it again")
        view = partial(evaluation_view if number else training_view, size=size)
        return ImageFiles(folder / IMAGES, kept, blond[chosen].long(), groups[chosen], size, view)

    return StreamedImages(
        train=split(0),
        validation=split(1),
        test=split(2),
        classes=2,
        group_names=GROUPS,
        shuffle=shuffle,
        on_damage=damaged,
    )


def need_files(folder: Path) -> None:
    missing = [name for name in (IMAGES, ATTRIBUTES, PARTITION) if not (folder / name).exists()]
    if missing:
        unpack = f"; unpack {IMAGES}.zip there" if (folder / f"{IMAGES}.zip").exists() and IMAGES in missing else ""
        raise NormbenchError(
            f"CelebA's {', '.join(missing)} not found in {folder}",
            f"put the files there or set NORMBENCH_DATA to the folder above them{unpack}",
        )


def lines_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The words of every line that has any, with its number; the first line is 1."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NormbenchError(f"{path} cannot be read", "copy it again") from error
    return ((number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def bad_line(path: Path, number: int, what: str) -> NormbenchError:
    return NormbenchError(f"{path} is damaged: line {number} {what}", "copy it again")


def read_partition(path: Path) -> dict[str, int]:
    """`name part` a line; 0 train, 1 validation, 2 test."""
    parts: dict[str, int] = {}
    for number, words in lines_of(path):
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise bad_line(path, number, "is not a name and 0, 1 or 2")
        parts[words[0]] = int(words[1])
    return parts


def read_attributes(path: Path, wanted: list[str]) -> tuple[list[str], dict[str, Tensor]]:
    """The number of images, the attributes' names, then `name value value ...` a line, every value 1 or -1."""
    lines = lines_of(path)
    _, count = next(lines, (1, []))
    _, header = next(lines, (2, []))
    if len(count) != 1 or not count[0].isdigit():
        raise bad_line(path, 1, "is not the number of images")
    if absent := [name for name in wanted if name not in header]:
        raise bad_line(path, 2, f"does not name {', '.join(absent)}")
    places = [header.index(name) + 1 for name in wanted]
    names, rows = [], []
    for number, words in lines:
        if len(words) != len(header) + 1:
            raise bad_line(path, number, f"has {len(words) - 1} values for {len(header)} attributes")
        row = [words[place] for place in places]
        if not {"1", "-1"}.issuperset(row):
            raise bad_line(path, number, "has a value that is neither 1 nor -1")
        names.append(words[0])
        rows.append([value == "1" for value in row])
    if len(names) != int(count[0]):
        raise bad_line(path, 1, f"promises {count[0]} images and {len(names)} follow")
    values = torch.tensor(rows, dtype=torch.bool).view(len(names), len(wanted))
    return names, {name: values[:, place] for place, name in enumerate(wanted)}


def check_names(folder: Path, names: list[str], parts: dict[str, int]) -> None:
    """Every image of the list is in a split and there as a file."""
    if homeless := [name for name in names if name not in parts]:
        raise NormbenchError(
            f"{folder / PARTITION} does not say the part of {homeless[0]} ({len(homeless)} such)", "copy it again"
        )
    there = {entry.name for entry in os.scandir(folder / IMAGES)}
    if absent := [name for name in names if name not in there]:
        raise NormbenchError(
            f"{folder / IMAGES / absent[0]} is missing ({len(absent)} of {len(names)} images)",
            "unpack the archive again",
        )
