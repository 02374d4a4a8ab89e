"""Images that are read from files on request, one by one or in whole batches; damaged files.

All of this also runs in worker processes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from normbench_cli.datasets._images.transforms import Transform
from normbench_cli.errors import NormbenchError, first_sentence

OnDamage = Literal["skip", "fail"]
Key = tuple[int, int]  # the index of an image, and the number of its random draw
Item = tuple[Tensor, Tensor, Tensor]  # an image (uint8), its label, its groups; or a batch of them
MAX_REPLACEMENTS = 100  # if this many images in a row are unreadable, the problem is not the images


class DamagedImage(NormbenchError):
    """A file that cannot be decoded."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} cannot be read as an image ({why})", "copy it again, or leave it out by damaged=skip")
        self.path = path
        self.why = why


class ImageFiles(torch.utils.data.Dataset[Item]):
    """One split: `files[i]` reads an image file and returns the image (uint8, 3 x size x size), its label and groups.

    `files[i, draw]` applies the transform with that random draw: equal keys give equal images in any process.

    names: of the files, relative to the folder; groups: bool (N, groups), or None for a data set without groups.
    """

    def __init__(
        self, folder: Path, names: Sequence[str], labels: Tensor, groups: Tensor | None, size: int, transform: Transform
    ) -> None:
        # one block of bytes, which workers share: a list of a million strings would be copied into each worker
        self._names = np.array([os.fsencode(name) for name in names], dtype=np.bytes_)
        self._folder = str(folder)
        self._transform = transform
        self.size = size
        self.labels = labels
        self.groups = torch.empty(len(labels), 0, dtype=torch.bool) if groups is None else groups

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, key: int | Key) -> Item:
        index, draw = key if isinstance(key, tuple) else (key, 0)
        image = decode_image(self.path(index))
        pixels = torch.from_numpy(np.array(self._transform(image, index, draw))).permute(2, 0, 1).contiguous()
        return pixels, self.labels[index], self.groups[index]

    def part(self, chosen: Tensor, like: ImageFiles | None = None) -> ImageFiles:
        """The files with these indices.  like: a split whose size and transform to use."""
        part, source = copy(self), like or self
        part._names, part.labels, part.groups = self._names[chosen.numpy()], self.labels[chosen], self.groups[chosen]
        part.size, part._transform = source.size, source._transform
        return part

    def path(self, index: int) -> str:
        return os.path.join(self._folder, os.fsdecode(self._names[index]))  # noqa: PTH118  # quicker than a Path


def decode_image(path: str) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about malformed metadata, which does not affect the picture
            with Image.open(path) as file:
                return file.convert("RGB")
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make its decoder fail in any way
        raise DamagedImage(path, decoding_problem(error)) from error


def decoding_problem(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "unknown format"
    return error.strerror if isinstance(error, OSError) and error.strerror else first_sentence(error)


class BatchReader(torch.utils.data.Dataset[tuple[Item | None, dict[str, str]]]):
    """Whole batches of a split: `reader[keys]` is a batch of the readable images, and the damaged files with reasons.

    min_images: how many images a batch needs.  If damage leaves fewer, the images that follow in the split replace the
    damaged ones, so that no training step is skipped or lacks batch statistics, for any number of workers.
    """

    def __init__(self, split: ImageFiles, min_images: int) -> None:
        self._split = split
        self._min_images = min_images

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
        replacements = self._replacements(keys)
        while len(items) < self._min_images and (replacement := next(replacements, None)):
            read(replacement)
        if len(items) < max(1, self._min_images):
            return None, damaged
        images, labels, groups = map(torch.stack, zip(*items, strict=True))
        return (images, labels, groups), damaged

    def _replacements(self, keys: list[Key]) -> Iterator[Key]:
        """Yield the images that follow the last one of a batch and are not in it."""
        used = {index for index, _ in keys}
        last, draw = keys[-1]
        count = len(self._split)
        following = ((last + step) % count for step in range(1, min(count, MAX_REPLACEMENTS + 1)))
        return ((index, draw) for index in following if index not in used)
