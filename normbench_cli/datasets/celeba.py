"""CelebA: faces with 40 attributes each, read image by image from the files as they are published."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from normbench_cli.datasets.face_crops import central, flipped, random_crop
from normbench_cli.datasets.streaming import StreamedBatches
from normbench_cli.errors import NormbenchError
from normbench_cli.places import data_root
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
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


class Faces(torch.utils.data.Dataset[tuple[Tensor, Tensor, Tensor]]):
    """One split: `faces[i]` is an image (uint8, 3 x size x size), its label and its groups; files are opened then.

    In training `faces[i, draw]` is cropped and mirrored by chance; the same pair is the same image in any process, and
    a loader that gives the number of the epoch as `draw` sees new crops every epoch.
    """

    def __init__(
        self, folder: Path, names: list[str], labels: Tensor, groups: Tensor, size: int, augment: bool
    ) -> None:
        self._folder, self._names, self.size, self._augment = folder, names, size, augment
        self.labels, self.groups = labels, groups

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, key: int | tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        index, draw = key if isinstance(key, tuple) else (key, 0)
        path = self._folder / self._names[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except (OSError, SyntaxError, ValueError) as error:  # what PIL raises on a file that ends early or is none
            raise NormbenchError(f"{path} cannot be read as an image", "copy it again from the archive") from error
        box = random_crop(image.size, index, draw) if self._augment else central(image.size)
        image = image.crop(box).resize((self.size, self.size), Image.Resampling.BILINEAR)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
        if self._augment and flipped(index, draw):
            pixels = pixels.flip(2)
        return pixels, self.labels[index], self.groups[index]


@dataclass(frozen=True)
class CelebA:
    """A data set too large for memory: its splits give one image at a time."""

    train: Faces
    validation: Faces
    test: Faces
    classes: int = 2
    channels: int = 3
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    group_names: tuple[str, ...] = GROUPS
    shuffle: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input: channels, height, width."""
        return self.channels, self.train.size, self.train.size

    def batches(
        self,
        split: Faces,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
    ) -> StreamedBatches:
        """Batches of a split; with a seed, in the order of training."""
        return StreamedBatches(
            split,
            self.mean,
            self.std,
            batch_size,
            device,
            shuffle_seed=shuffle_seed,
            shuffle=self.shuffle,
            channels_last=channels_last,
            workers=workers,
        )


@DATASETS.register(
    "celeba", paper="Liu et al. 2015; groups of Zhai et al. 2021", streams=True, groups=True, recipe="augnorm-celeba"
)
def celeba(size: int = 224, shuffle: bool = True, root: str = "") -> CelebA:
    """Faces, blond or not, with 16 overlapping groups of sex, age, attractiveness and hair; official splits.

    The folder `celeba` of the data folder holds `img_align_celeba/`, `list_attr_celeba.txt` and
    `list_eval_partition.txt`: the official 162,770, 19,867 and 19,962 images, or fewer, of any size.  Training crops a
    share of 0.7 to 1 of the area at a ratio of 1 to 4/3 and mirrors every second image; evaluation takes the central
    square (178 pixels of 178x218).  The AugNorm paper's "70 %, randomly sampled" is not the official split (E9).

    size: width and height after resizing; shuffle: false trains in the order of the files in every epoch, as the code
    of DORO does; root: the data folder, given by the program.
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

    def split(number: int) -> Faces:
        chosen = (part == number).nonzero().flatten()
        kept = [names[i] for i in chosen.tolist()]
        if not kept:
            raise NormbenchError(f"{folder / PARTITION} puts no image into part {number}", "copy it again")
        return Faces(folder / IMAGES, kept, blond[chosen].long(), groups[chosen], size, augment=number == 0)

    return CelebA(split(0), split(1), split(2), shuffle=shuffle)


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


def damaged(path: Path, number: int, what: str) -> NormbenchError:
    return NormbenchError(f"{path} is damaged: line {number} {what}", "copy it again")


def read_partition(path: Path) -> dict[str, int]:
    """`name part` a line; 0 train, 1 validation, 2 test."""
    parts: dict[str, int] = {}
    for number, words in lines_of(path):
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise damaged(path, number, "is not a name and 0, 1 or 2")
        parts[words[0]] = int(words[1])
    return parts


def read_attributes(path: Path, wanted: list[str]) -> tuple[list[str], dict[str, Tensor]]:
    """The number of images, the attributes' names, then `name value value ...` a line, every value 1 or -1."""
    lines = lines_of(path)
    _, count = next(lines, (1, []))
    _, header = next(lines, (2, []))
    if len(count) != 1 or not count[0].isdigit():
        raise damaged(path, 1, "is not the number of images")
    if absent := [name for name in wanted if name not in header]:
        raise damaged(path, 2, f"does not name {', '.join(absent)}")
    places = [header.index(name) + 1 for name in wanted]
    names, rows = [], []
    for number, words in lines:
        if len(words) != len(header) + 1:
            raise damaged(path, number, f"has {len(words) - 1} values for {len(header)} attributes")
        row = [words[place] for place in places]
        if not {"1", "-1"}.issuperset(row):
            raise damaged(path, number, "has a value that is neither 1 nor -1")
        names.append(words[0])
        rows.append([value == "1" for value in row])
    if len(names) != int(count[0]):
        raise damaged(path, 1, f"promises {count[0]} images and {len(names)} follow")
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
