"""Batches of images that do not fit in memory: read by worker processes, standardized on the device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any, cast

import torch
from torch.utils.data import DataLoader, Sampler

from normbench_cli.datasets.base import Batch, Standardize
from normbench_cli.errors import NormbenchError

Key = tuple[int, int]  # which image, and which of its random crops: the number of the epoch


class Keys(Sampler[Key]):
    """What an epoch asks for, in order; set anew before each, so that the workers may live on."""

    def __init__(self) -> None:
        self.keys: list[Key] = []

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)


class StreamedBatches:
    """Batches of a split whose items are an image (uint8), its label and its groups, asked for by (index, draw).

    Order and crops depend on the seed and the epoch alone: the same for any number of workers, and when training goes
    on in the middle of an epoch.  As in memory, a last batch of a single sample is left out in training.

    shuffle_seed: for training; shuffle: False keeps the order of the files in every epoch, as some reference code does.
    """

    def __init__(
        self,
        split: Sized,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        shuffle: bool = True,
        channels_last: bool = False,
        workers: int = 0,
    ) -> None:
        self._keys, self._device = Keys(), device
        self._loader: DataLoader[Any] = DataLoader(
            cast(Any, split),
            batch_size,
            sampler=self._keys,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=device.type == "cuda",
        )
        self._standardize = Standardize(mean, std, device)
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        self._seed = shuffle_seed if shuffle else None
        self.batch_size, self.samples = batch_size, len(split)
        if shuffle_seed is not None and batch_size > 1 and self.samples % batch_size == 1:
            self.samples -= 1

    def __len__(self) -> int:
        return math.ceil(self.samples / self.batch_size)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from the `first` on."""
        order = list(range(len(cast(Sized, self._loader.dataset))))
        if self._seed is not None:
            generator = torch.Generator().manual_seed(self._seed * 1_000_003 + number)
            order = torch.randperm(len(order), generator=generator).tolist()
        self._keys.keys = [(index, number) for index in order[first * self.batch_size : self.samples]]
        try:
            for images, labels, groups in self._loader:
                images, labels, groups = (t.to(self._device, non_blocking=True) for t in (images, labels, groups))
                yield Batch(self._standardize(images).contiguous(memory_format=self._format), labels, groups)
        except NormbenchError as error:  # one from a worker brings its traceback along
            raise NormbenchError(str(error).strip().rpartition("NormbenchError: ")[2]) from error
