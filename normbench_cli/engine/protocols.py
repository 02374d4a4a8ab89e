"""The interfaces that training expects of data, as Protocols: a data set needs the attributes and inherits nothing.

    ImageData    splits and batches of them         engine/loop.py        digits, cifar10, imagenet, folder, ...
    GraphData    labels, and `to(device)`           engine/crossval/      mutag, ptc, proteins, tu

`Data` is their common part, and all that is needed to build a model.  Attributes are read-only here, so that frozen
dataclasses and named tuples satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

# The argument of a model: a tensor of images, or a data set's batch of graphs.  The engine passes it from the data to
# the model and never looks inside, so no type could be more specific.
Inputs: TypeAlias = Any


class Batch(Protocol):
    """Inputs, labels (N,), and, if the data set has groups, the membership of each example: bool (N, groups).

    All tensors are on the device, and inputs are standardized.
    """

    @property
    def inputs(self) -> Inputs: ...

    @property
    def labels(self) -> Tensor: ...

    @property
    def groups(self) -> Tensor | None: ...


class Batches(Protocol):
    """The batches of a split, epoch by epoch, starting at any batch of the epoch.

    Equal arguments of `epoch` give equal batches: runs that resume in the middle of an epoch rely on it.
    """

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        ...

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, from index `first` on.  Order and augmentation depend on the epoch's number;
        a split that is not shuffled is the same in every epoch."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """Batches that are read from files while the model trains, some of which may be damaged."""

    @property
    def damaged(self) -> Mapping[str, str]:
        """Files skipped so far because they cannot be read, each with the reason."""
        ...


@runtime_checkable
class Data(Protocol):
    """Any data set: what is needed to build a model for it."""

    @property
    def classes(self) -> int: ...

    @property
    def channels(self) -> int:
        """Channels of an image, or features of a node."""
        ...


@runtime_checkable
class ImageData(Data, Protocol):
    """A data set of images, or of other tensors of one shape.

    A split may be of any type that has a length and that `batches` accepts.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input, channels first."""
        ...

    @property
    def mean(self) -> tuple[float, ...]:
        """Mean of each channel, which is subtracted from pixels in 0-1."""
        ...

    @property
    def std(self) -> tuple[float, ...]:
        """Standard deviation of each channel, by which pixels in 0-1 are divided."""
        ...

    @property
    def train(self) -> Sized: ...

    @property
    def test(self) -> Sized: ...

    @property
    def validation(self) -> Sized | None:
        """The split for selecting an epoch; None if the data set has none."""
        ...

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the columns of `Batch.groups`; empty if the data set has no groups."""
        ...

    def batches(
        self,
        split: Any,  # one of the data set's splits, of its own type
        batch_size: int,
        device: torch.device,
        *,
        shuffle_seed: int | None = None,
        channels_last: bool = False,
        workers: int = 0,
        pin_memory: bool = True,
    ) -> Batches:
        """Batches of a split: with a seed, shuffled and augmented for training; without, in order and unchanged.

        pin_memory: copy to the device from page-locked memory where that is faster; passed only if it is False."""
        ...


@runtime_checkable
class HoldsOut(Protocol):
    """A data set that can hold out a part of its training set as its validation set."""

    def hold_out(self, fraction: float, seed: int) -> ImageData:
        """The data set with a smaller training set and a validation set; equal arguments give equal sets."""
        ...


class FoldData(Protocol):
    """Labeled graphs on a device, any of which can be combined into a batch."""

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
    """A data set for graph classification, which is cross-validated."""

    @property
    def labels(self) -> Tensor: ...

    def __len__(self) -> int: ...

    def to(self, device: torch.device) -> FoldData: ...


class Probe(Protocol):
    """Observes a model while it trains."""

    def after_step(self, step: int) -> None:
        """Called after each training step; the first step is 1."""
        ...

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return metrics, and raw series with one value per step since the last `read`."""
        ...
