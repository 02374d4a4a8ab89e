"""What training needs of data, as Protocols: a data set fulfils one by having its attributes, and inherits nothing.

    ImageData    splits and batches of them         engine/loop.py        digits, cifar10, imagenet, folder, ...
    GraphData    labels, and `to(device)`           engine/crossval/      mutag, ptc, proteins, tu

`Data` is what the two have in common and all that is needed to build a model.  Attributes are read-only here, so that
frozen dataclasses and named tuples fulfil them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

# What a model is called with: a tensor of images, or the batch of graphs of a data set.  The engine passes it on from
# the data to the model and never looks inside, so no type could say more.
Inputs: TypeAlias = Any


class Batch(Protocol):
    """Inputs, labels (N,), and where the data set has groups, which of them each example belongs to: bool (N, groups).

    All tensors are on the device, and inputs are standardized.
    """

    @property
    def inputs(self) -> Inputs: ...

    @property
    def labels(self) -> Tensor: ...

    @property
    def groups(self) -> Tensor | None: ...


class Batches(Protocol):
    """The batches of a split, epoch by epoch, from any batch of the epoch on.

    Equal arguments of `epoch` give equal batches: a run that is resumed in the middle of an epoch relies on it.
    """

    def __len__(self) -> int:
        """How many batches an epoch has."""
        ...

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from the one with the index `first` on.  Order and augmentation depend on the
        number of the epoch; a split that is not shuffled is the same in every epoch."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """Batches that are read from files while the model trains, some of which may be damaged."""

    @property
    def damaged(self) -> Mapping[str, str]:
        """The files that were left out so far because they cannot be read, each with the reason."""
        ...


@runtime_checkable
class Data(Protocol):
    """Any data set: what a model has to know of it."""

    @property
    def classes(self) -> int: ...

    @property
    def channels(self) -> int:
        """Of an image, or features of a node."""
        ...


@runtime_checkable
class ImageData(Data, Protocol):
    """A data set of images, or of anything else that comes in tensors of one shape.

    A split is whatever the data set makes of it: it has a length, and `batches` takes it.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input: channels first."""
        ...

    @property
    def mean(self) -> tuple[float, ...]:
        """Of each channel, as it was subtracted from pixels in 0-1."""
        ...

    @property
    def std(self) -> tuple[float, ...]:
        """Of each channel, as pixels in 0-1 were divided by it."""
        ...

    @property
    def train(self) -> Sized: ...

    @property
    def test(self) -> Sized: ...

    @property
    def validation(self) -> Sized | None:
        """Only for choosing an epoch; None if the data set has no such split."""
        ...

    @property
    def group_names(self) -> tuple[str, ...]:
        """Of the columns of `Batch.groups`; empty if the data set has no groups."""
        ...

    def batches(
        self,
        split: Any,  # one of the data set's own splits, of the data set's own type
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
        pin_memory: bool = True,
    ) -> Batches:
        """Batches of a split: shuffled and augmented for training with a seed, in order and unchanged without.

        pin_memory: copied to a device from page-locked memory where that is faster; given only where it is False."""
        ...


@runtime_checkable
class HoldsOut(Protocol):
    """A data set that can hold out a part of its training set as its validation set."""

    def hold_out(self, fraction: float, seed: int) -> ImageData:
        """The data set with another training set and a validation set; equal arguments give equal sets."""
        ...


class FoldData(Protocol):
    """Labelled graphs on a device, of which any may be put together to a batch."""

    @property
    def device(self) -> torch.device: ...

    @property
    def labels(self) -> Tensor: ...

    def __len__(self) -> int: ...

    def batch(self, chosen: Tensor) -> tuple[Inputs, Tensor]:
        """The graphs with these indices (on the CPU) as one batch, and their labels."""
        ...

    def chunks(self, max_nodes: int) -> Sequence[tuple[Inputs, Tensor]]:
        """All graphs in order, in batches of about `max_nodes` nodes."""
        ...


@runtime_checkable
class GraphData(Data, Protocol):
    """A data set of graphs to classify, which is cross-validated."""

    @property
    def labels(self) -> Tensor: ...

    def __len__(self) -> int: ...

    def to(self, device: torch.device) -> FoldData: ...


class Probe(Protocol):
    """Observes a model while it trains."""

    def after_step(self, step: int) -> None:
        """A training step has ended; the first is 1."""
        ...

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Metrics, and raw series with a value for each step since the last `read`."""
        ...
