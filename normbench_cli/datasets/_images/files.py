"""Images that stay in their files until they are asked for, one by one or by whole batches; and what a damaged one is.

Everything here also works in a worker process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from normbench_cli.datasets._images.transforms import View
from normbench_cli.errors import NormbenchError, first_sentence

OnDamage = Literal["skip", "fail"]
Key = tuple[int, int]  # which image, and which of its random crops
Item = tuple[Tensor, Tensor, Tensor]  # an image (uint8), its label, its groups; or a batch of them
STAND_INS = 100  # so many images in a row that cannot be read mean that something else is wrong


class DamagedImage(NormbenchError):
    """A file that cannot be decoded."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} cannot be read as an image ({why})", "copy it again, or leave it out by damaged=skip")
        self.path, self.why = path, why


class ImageFiles(torch.utils.data.Dataset[Item]):
    """One split: `files[i]` is an image (uint8, 3 x size x size), its label and its groups; its file is read then.

    `files[i, draw]` is what the view makes of that draw: the same pair is the same image in any process.

    names: of the files in the folder; groups: bool (N, groups), without any where there are none.
    """

    def __init__(
        self, folder: Path, names: Sequence[str], labels: Tensor, groups: Tensor | None, size: int, view: View
    ) -> None:
        # one block of bytes, which workers share; a list of a million strings each of them would come to copy
        self._names = np.array([os.fsencode(name) for name in names], dtype=np.bytes_)
        self._folder, self._view, self.size = str(folder), view, size
        self.labels = labels
        self.groups = torch.empty(len(labels), 0, dtype=torch.bool) if groups is None else groups

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, key: int | Key) -> Item:
        index, draw = key if isinstance(key, tuple) else (key, 0)
        image = self._view(decoded(os.path.join(self._folder, os.fsdecode(self._names[index]))), index, draw)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
        return pixels, self.labels[index], self.groups[index]


def decoded(path: str) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd notes about the camera, which are no part of the picture
            with Image.open(path) as file:
                return file.convert("RGB")
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can break its reader in any way
        raise DamagedImage(path, reason(error)) from error


def reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "unknown format"
    return error.strerror if isinstance(error, OSError) and error.strerror else first_sentence(error)


class BatchReader(torch.utils.data.Dataset[tuple[Item | None, dict[str, str]]]):
    """Whole batches of a split: `reader[keys]` is the images that can be read, and the files that cannot, with why.

    least: how many images a batch must have to be of use.  Where damage leaves fewer, the images that follow in the
    split stand in: so every training step takes place, with statistics, and equally for any number of workers.
    """

    def __init__(self, split: ImageFiles, least: int) -> None:
        self._split, self._least = split, least

    def __getitem__(self, keys: list[Key]) -> tuple[Item | None, dict[str, str]]:
        items: list[Item] = []
        damaged: dict[str, str] = {}

        def read(key: Key) -> None:
            try:
                items.append(self._split[key])
            except DamagedImage as error:
                damaged[error.path] = error.why

        for key in keys:
            read(key)
        stand_ins = self._after(keys)
        while len(items) < self._least and (another := next(stand_ins, None)):
            read(another)
        if len(items) < max(1, self._least):
            return None, damaged
        images, labels, groups = map(torch.stack, zip(*items, strict=True))
        return (images, labels, groups), damaged

    def _after(self, keys: list[Key]) -> Iterator[Key]:
        """The images that follow the last of a batch and are not in it."""
        taken = {index for index, _ in keys}
        last, draw = keys[-1]
        count = len(self._split)
        following = ((last + step) % count for step in range(1, min(count, STAND_INS + 1)))
        return ((index, draw) for index in following if index not in taken)
