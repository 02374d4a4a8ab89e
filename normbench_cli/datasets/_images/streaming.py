"""Image data sets too large for memory: batches read by worker processes and standardized on the device."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch.utils.data import DataLoader, Sampler

from normbench_cli.datasets._images.batches import ImageBatch, ImageBatches, Standardize
from normbench_cli.datasets._images.files import BatchReader, DamagedImage, ImageFiles, Item, Key, OnDamage
from normbench_cli.datasets._images.held_out import held_out
from normbench_cli.device import pins_memory
from normbench_cli.errors import NormbenchError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, customary for all photographs


@dataclass(frozen=True)
class StreamedImages:
    """An image data set whose splits are read one image at a time.

    mean, std: of each channel, for pixels in 0-1.
    shuffle: False trains in the order of the files in every epoch, as some reference code does.
    """

    train: ImageFiles
    test: ImageFiles
    classes: int
    validation: ImageFiles | None = None  # only for selecting an epoch
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    group_names: tuple[str, ...] = ()
    shuffle: bool = True
    on_damage: OnDamage = "skip"
    channels: int = 3

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input: channels, height, width."""
        return self.channels, self.train.size, self.train.size

    def hold_out(self, fraction: float, seed: int) -> StreamedImages:
        """The data set with a part of the training set as validation set, transformed like the test set."""
        kept, held = held_out(self.train.labels, fraction, seed)
        return replace(self, train=self.train.part(kept), validation=self.train.part(held, like=self.test))

    def batches(
        self,
        split: ImageFiles,
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
        pin_memory: bool = True,
    ) -> StreamedBatches:
        """Batches of a split, read by `workers` processes; shuffled and augmented if there is a seed."""
        return StreamedBatches(self, split, batch_size, device, shuffle_seed, channels_last, workers, pin_memory)


class BatchKeys(Sampler[list[Key]]):
    """The keys of an epoch's batches, in order.  They are replaced before each epoch, so that workers can persist."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self.indices: list[int] = []
        self.draw = 0

    def __iter__(self) -> Iterator[list[Key]]:
        for start in range(0, len(self.indices), self._batch_size):
            yield [(index, self.draw) for index in self.indices[start : start + self._batch_size]]

    def __len__(self) -> int:
        return math.ceil(len(self.indices) / self._batch_size)


class StreamedBatches(ImageBatches):
    """Batches of a split of image files.

    Depending on the data set's `on_damage`, an unreadable file is dropped from its batch and listed in `damaged` with
    the reason, or raises an error.  A training batch keeps at least two images (see `BatchReader`); an evaluation batch
    without a readable image is skipped.
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
        pin_memory: bool = True,
    ) -> None:
        standardize = Standardize(data.mean, data.std, device)
        super().__init__(len(split), batch_size, device, standardize, shuffle_seed, channels_last)
        self.damaged: dict[str, str] = {}
        self._shuffle = data.shuffle
        self._on_damage = data.on_damage
        self._split_size = len(split)
        self._keys = BatchKeys(batch_size)
        self._pinned = pin_memory and pins_memory(device)
        with silence_loader_warnings():
            self._loader: DataLoader[Any] = DataLoader(
                BatchReader(split, min(2, batch_size) if self._training else 0),
                batch_size=None,  # the reader makes the batches
                sampler=cast(Any, self._keys),
                num_workers=workers,
                persistent_workers=workers > 0,
                pin_memory=self._pinned,
                generator=torch.Generator(),  # the loader draws numbers, and must not use training's generator
            )

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[ImageBatch]:
        """Yield the batches of an epoch, from index `first` on."""
        order, draw = list(range(self._split_size)), number
        if self._training:
            draw = self._epoch_seed(number)
            if self._shuffle:
                order = torch.randperm(len(order), generator=torch.Generator().manual_seed(draw)).tolist()
        self._keys.indices = order[first * self.batch_size : self.examples]
        self._keys.draw = draw
        used = 0
        for read, damaged in self._read():
            self._record_damage(damaged)
            if read is None and not self._training:
                continue
            if read is None:
                path, why = next(iter(damaged.items()))
                raise NormbenchError(
                    f"too few images are left for a step: {len(damaged)} in a row cannot be read, first {path} ({why})",
                    "check the folder and its disk",
                )
            used += 1
            images, labels, groups = (part.to(self._device, non_blocking=self._pinned) for part in read)
            yield ImageBatch(self._to_inputs(images), labels, groups if groups.shape[1] else None)
        if not used and self._keys.indices:
            raise NormbenchError(f"none of the {self.examples} images can be read: {next(iter(self.damaged))}")

    def _read(self) -> Iterator[tuple[Item | None, dict[str, str]]]:
        with silence_loader_warnings():
            batches = iter(self._loader)
        try:
            yield from batches
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker"):
                raise
            what = str(error).partition(". ")[0]
            raise NormbenchError(what, "use fewer --workers, or give the system more shared memory") from error

    def _record_damage(self, damaged: dict[str, str]) -> None:
        """Remember the files that were skipped, or raise an error for the first."""
        for path, why in damaged.items():
            if self._on_damage == "fail":
                raise DamagedImage(path, why)
            self.damaged[path] = why


@contextmanager
def silence_loader_warnings() -> Iterator[None]:
    """Suppress the loader's warnings about more workers than cores, since the user chose the number, and about forking
    a process with threads: torch's threads are idle at that point and hold no lock that a worker needs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
