"""What a data set is to the rest of the program, and how batches are drawn from one that fits on the device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Augment = Literal["none", "flip", "crop_flip"]
PAD = 4


class Batch(NamedTuple):
    """Standardized inputs, labels, and which groups each sample belongs to, where the data set has groups."""

    inputs: Tensor
    labels: Tensor
    groups: Tensor | None = None


@dataclass(frozen=True)
class Split:
    """Images as uint8 (N, C, H, W) with their labels, and which of the data set's groups each belongs to."""

    images: Tensor
    labels: Tensor
    groups: Tensor | None = None  # bool (N, groups); they may overlap

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Dataset:
    """An image data set held in memory: its splits, and the mean and sd of each channel (of pixels in 0-1).

    augment: what training does to an image: nothing, mirror every second one, or also shift it by up to four pixels.
    """

    train: Split
    test: Split
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    group_names: tuple[str, ...] = ()
    validation: Split | None = None  # only for choosing an epoch
    augment: Augment = "none"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input: channels, height, width."""
        return tuple(self.train.images.shape[1:])

    @property
    def channels(self) -> int:
        return self.shape[0]

    def batches(
        self,
        split: Split,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
    ) -> Batches:
        """Batches of a split; with a seed, shuffled and augmented for training.  No workers are needed."""
        return Batches(self, split, batch_size, device, shuffle_seed, channels_last)


class Standardize:
    """uint8 pixels -> standardized ones, on the device."""

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...], device: torch.device) -> None:
        sd = torch.tensor(std)
        self._scale = (1 / (255 * sd)).to(device).view(-1, 1, 1)
        self._shift = (-torch.tensor(mean) / sd).to(device).view(-1, 1, 1)

    def __call__(self, images: Tensor) -> Tensor:
        return torch.addcmul(self._shift, images, self._scale)


class Batches:
    """Standardized batches of a split that lives on the device.

    The order of an epoch, its shifts and mirrorings depend on the seed and the epoch alone, so they are the same on
    every device, for any number of workers, and when training goes on in the middle of an epoch.  A last batch of a
    single sample is left out in training: no batch statistics can be taken of it.
    """

    damaged: dict[str, str] | None = None  # nothing is read from files any more

    def __init__(
        self,
        data: Dataset,
        split: Split,
        batch_size: int,
        device: torch.device,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
    ) -> None:
        self._labels = split.labels.to(device)
        self._groups = None if split.groups is None else split.groups.to(device)
        self._standardize = Standardize(data.mean, data.std, device)
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        self._seed = shuffle_seed
        self._augment = data.augment if shuffle_seed is not None else "none"
        self._size = split.images.shape[2:]
        pad = PAD if self._augment == "crop_flip" else 0
        # pixel by pixel in memory: a pixel's channels are fetched together
        self._images = F.pad(split.images, (pad, pad, pad, pad)).permute(0, 2, 3, 1).contiguous().to(device)
        self.batch_size, self.examples = batch_size, len(split)
        if shuffle_seed is not None and batch_size > 1 and self.examples % batch_size == 1:
            self.examples -= 1

    def __len__(self) -> int:
        return math.ceil(self.examples / self.batch_size)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from the `first` on."""
        order, moves = self._draw(number)
        for start in range(first * self.batch_size, self.examples, self.batch_size):
            stop = min(start + self.batch_size, self.examples)
            chosen = slice(start, stop) if order is None else order[start:stop]
            images = self._take(chosen, None if moves is None else moves[start:stop])
            inputs = self._standardize(images.permute(0, 3, 1, 2)).contiguous(memory_format=self._format)
            yield Batch(inputs, self._labels[chosen], None if self._groups is None else self._groups[chosen])

    def _draw(self, number: int) -> tuple[Tensor | None, Tensor | None]:
        """The epoch's order, and for every place in it the shift down, the shift right and whether to mirror."""
        if self._seed is None:
            return None, None
        device = self._labels.device
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + number)
        order = torch.randperm(len(self._labels), generator=generator).to(device)
        if self._augment == "none":
            return order, None
        limits = 2 * PAD + 1 if self._augment == "crop_flip" else 1
        shifts = torch.randint(0, limits, (len(order), 2), generator=generator)
        mirrors = torch.randint(0, 2, (len(order), 1), generator=generator)
        return order, torch.cat([shifts, mirrors], 1).to(device)

    def _take(self, chosen: Tensor | slice, moves: Tensor | None) -> Tensor:
        """Images (N, H, W, C), shifted and mirrored each in its own way by one gathering."""
        if moves is None or isinstance(chosen, slice):
            return self._images[chosen]
        height, width = self._size
        down, right, mirror = moves.unsqueeze(2).unbind(1)
        rows = down + torch.arange(height, device=down.device)
        columns = torch.arange(width, device=down.device)
        columns = right + torch.where(mirror == 1, width - 1 - columns, columns)
        return self._images[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
