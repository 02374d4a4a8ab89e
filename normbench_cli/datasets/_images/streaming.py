"""Batches of images that do not fit in memory: read by worker processes, standardized on the device."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch.utils.data import DataLoader, Sampler

from normbench_cli.datasets._images.files import BatchReader, DamagedImage, ImageFiles, Item, Key, OnDamage
from normbench_cli.datasets._images.memory import Batch, Standardize
from normbench_cli.device import on_accelerator
from normbench_cli.errors import NormbenchError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, customary for all photographs


@dataclass(frozen=True)
class StreamedImages:
    """A data set too large for memory: its splits read one image at a time.

    shuffle: False keeps the order of the files in every epoch, as some reference code does.
    """

    train: ImageFiles
    test: ImageFiles
    classes: int
    validation: ImageFiles | None = None  # only for choosing an epoch
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    group_names: tuple[str, ...] = ()
    shuffle: bool = True
    on_damage: OnDamage = "skip"
    channels: int = 3

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input: channels, height, width."""
        return self.channels, self.train.size, self.train.size

    def batches(
        self,
        split: ImageFiles,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
    ) -> StreamedBatches:
        """Batches of a split; with a seed, in the order of training."""
        return StreamedBatches(self, split, batch_size, device, shuffle_seed, channels_last, workers)


class Keys(Sampler[list[Key]]):
    """The batches that an epoch asks for, in order; set anew before each, so that the workers may live on."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size, self.indices, self.draw = batch_size, list[int](), 0

    def __iter__(self) -> Iterator[list[Key]]:
        for start in range(0, len(self.indices), self._batch_size):
            yield [(index, self.draw) for index in self.indices[start : start + self._batch_size]]

    def __len__(self) -> int:
        return math.ceil(len(self.indices) / self._batch_size)


class StreamedBatches:
    """Batches of a split of image files.

    Order and crops depend on the seed and the epoch alone: the same for any number of workers, and when training goes
    on in the middle of an epoch.  As in memory, a last batch of a single sample is left out in training.

    A file that cannot be read is left out of its batch and kept in `damaged` with the reason, or is an error, as the
    data set says.  A training batch is never left with fewer than two images (see `BatchReader`); a batch of
    evaluation that is left with none is passed over.
    """

    def __init__(
        self,
        data: StreamedImages,
        split: ImageFiles,
        batch_size: int,
        device: torch.device,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
    ) -> None:
        self.damaged: dict[str, str] = {}
        self._data, self._device = data, device
        self._standardize = Standardize(data.mean, data.std, device)
        self._format = torch.channels_last if channels_last else torch.contiguous_format
        self._seed = shuffle_seed
        self.batch_size, self.examples = batch_size, len(split)
        if shuffle_seed is not None and batch_size > 1 and self.examples % batch_size == 1:
            self.examples -= 1
        self._order, self._keys = range(len(split)), Keys(batch_size)
        with without_advice():
            self._loader: DataLoader[Any] = DataLoader(
                BatchReader(split, min(2, batch_size) if shuffle_seed is not None else 0),
                batch_size=None,  # it is the reader that makes batches
                sampler=cast(Any, self._keys),
                num_workers=workers,
                persistent_workers=workers > 0,
                pin_memory=on_accelerator(device),
                generator=torch.Generator(),  # it draws a number now and then, which must not be one of training's
            )

    def __len__(self) -> int:
        return math.ceil(self.examples / self.batch_size)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from the `first` on."""
        order, draw = list(self._order), number
        if self._seed is not None:
            draw = self._seed * 1_000_003 + number
            if self._data.shuffle:
                order = torch.randperm(len(order), generator=torch.Generator().manual_seed(draw)).tolist()
        self._keys.indices, self._keys.draw = order[first * self.batch_size : self.examples], draw
        used = 0
        for whole, damaged in self._read():
            self._note(damaged)
            if whole is None and self._seed is None:
                continue
            if whole is None:
                path, why = next(iter(damaged.items()))
                raise NormbenchError(
                    f"too few images are left for a step: {len(damaged)} in a row cannot be read, first {path} ({why})",
                    "look at the folder and the disk it is on",
                )
            used += 1
            images, labels, groups = (part.to(self._device, non_blocking=True) for part in whole)
            inputs = self._standardize(images).contiguous(memory_format=self._format)
            yield Batch(inputs, labels, groups if groups.shape[1] else None)
        if not used and self._keys.indices:
            raise NormbenchError(f"none of the {self.examples} images can be read: {next(iter(self.damaged))}")

    def _read(self) -> Iterator[tuple[Item | None, dict[str, str]]]:
        with without_advice():
            batches = iter(self._loader)
        try:
            yield from batches
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker"):
                raise
            what = str(error).partition(". ")[0]
            raise NormbenchError(what, "give fewer --workers, or the system more shared memory") from error

    def _note(self, damaged: dict[str, str]) -> None:
        """Remember which files were left out, or stop at the first."""
        for path, why in damaged.items():
            if self._data.on_damage == "fail":
                raise DamagedImage(path, why)
            self.damaged[path] = why


@contextmanager
def without_advice() -> Iterator[None]:
    """Without warnings that there are more workers than cores (they were asked for), and against forking beside threads
    (which wait for work, and hold nothing that a worker needs)."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
