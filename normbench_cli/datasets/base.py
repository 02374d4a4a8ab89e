"""What a data set is to the rest of the program, and how batches are drawn from one that fits on the device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Split:
    """Images as uint8 (N, C, H, W) with their labels."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Dataset:
    """An image data set held in memory: its splits, and the mean and sd per channel that standardize its pixels (in 0-1)."""

    train: Split
    test: Split
    classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def channels(self) -> int:
        return self.train.images.shape[1]


class Batches:
    """Standardized batches of a split that lives on the device.

    The order of an epoch depends on the seed and the epoch alone, so it is the same on every device and for any
    number of workers.  A last batch of a single sample is left out in training: no batch statistics can be taken of it.
    """

    def __init__(
        self,
        data: Dataset,
        split: Split,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
    ) -> None:
        self._images = split.images.to(device)
        self._labels = split.labels.to(device)
        scale = 1 / (255 * torch.tensor(data.std))
        self._scale = scale.to(device).view(-1, 1, 1)
        self._shift = (-torch.tensor(data.mean) / torch.tensor(data.std)).to(device).view(-1, 1, 1)
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        self._seed = shuffle_seed
        self.batch_size, self.samples = batch_size, len(split)
        if shuffle_seed is not None and batch_size > 1 and self.samples % batch_size == 1:
            self.samples -= 1

    def __len__(self) -> int:
        return math.ceil(self.samples / self.batch_size)

    def epoch(self, number: int = 0) -> Iterator[Batch]:
        order = None
        if self._seed is not None:
            generator = torch.Generator().manual_seed(self._seed * 1_000_003 + number)
            order = torch.randperm(len(self._labels), generator=generator).to(self._labels.device)
        for start in range(0, self.samples, self.batch_size):
            stop = min(start + self.batch_size, self.samples)
            if order is None:
                images, labels = self._images[start:stop], self._labels[start:stop]
            else:
                chosen = order[start:stop]
                images, labels = self._images[chosen], self._labels[chosen]
            yield (images * self._scale + self._shift).contiguous(memory_format=self._format), labels
