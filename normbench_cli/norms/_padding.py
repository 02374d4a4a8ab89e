"""Segments of rows, such as the nodes of each graph, as padded batches (segments, most rows, ...): dense tensors, whose
sums a compiler can fuse.

Segments of similar size share a batch: sizes within a factor of two of each other, or below a power of two near the
mean size.  So there are at most four slots per row.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor


class PaddedBatch(NamedTuple):
    """Segments of similar size, padded to the size of the largest."""

    segments: Tensor  # (n): their indices
    rows: Tensor  # (n * most): the row in each slot; an unused slot repeats its segment's first row
    sizes: Tensor  # (n, 1, 1): rows of each segment, as float32
    most: int

    def gather(self, x: Tensor) -> Tensor:
        """x (rows, C) as (n, most, C)."""
        return x.index_select(0, self.rows).view(-1, self.most, x.shape[1])


class Padding(NamedTuple):
    """Padded batches of all segments that have rows."""

    batches: tuple[PaddedBatch, ...]
    places: Tensor  # (rows): the slot of each row, in the concatenation of all batches

    def to_rows(self, padded: list[Tensor]) -> Tensor:
        """The inverse of `gather`, from (n, most, C) of each batch to (rows, C)."""
        flat = [t.flatten(0, 1) for t in padded]
        return (flat[0] if len(flat) == 1 else torch.cat(flat)).index_select(0, self.places)


KEPT = 16  # all layers of a network ask for the same batch in turn, and evaluation batches come again
CachedT = TypeVar("CachedT")
Recent = deque[tuple[weakref.ref[Tensor], int, int, CachedT]]
_recent_paddings: Recent[Padding] = deque(maxlen=KEPT)
_recent_rows: Recent[Tensor | None] = deque(maxlen=KEPT)


def padding_of(batch: Tensor, segments: int) -> Padding:
    """batch: (rows), the segment of each row, on the CPU and in any order."""
    return remembered(_recent_paddings, make_padding, batch, segments)


def first_rows(batch: Tensor, segments: int) -> Tensor | None:
    """The first row of each segment, and the number of rows; None if rows are not sorted by segment."""
    return remembered(_recent_rows, find_first_rows, batch, segments)


def remembered(
    recent: Recent[CachedT], make: Callable[[np.ndarray, int], CachedT], batch: Tensor, segments: int
) -> CachedT:
    version = 0 if batch.is_inference() else batch._version
    for known, known_version, known_segments, found in list(recent):
        if known() is batch and (known_version, known_segments) == (version, segments):
            return found
    made = make(batch.numpy(), segments)
    recent.append((weakref.ref(batch), version, segments, made))
    return made


def find_first_rows(segment: np.ndarray, segments: int) -> Tensor | None:
    if (np.diff(segment) < 0).any():
        return None
    return torch.from_numpy(np.concatenate([[0], np.bincount(segment, minlength=segments).cumsum()]).astype(np.int64))


def make_padding(segment: np.ndarray, segments: int) -> Padding:
    """Uses NumPy, whose small operations cost a tenth of torch's."""
    sizes = np.bincount(segment, minlength=segments)
    order = np.argsort(segment, kind="stable")
    first = sizes.cumsum() - sizes
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.repeat(first, sizes)
    classes = size_classes(sizes)
    begin, end, parts, batches = np.zeros_like(sizes), 0, [], []
    for number in np.unique(classes[sizes > 0]):
        members = ((classes == number) & (sizes > 0)).nonzero()[0]
        most = int(sizes[members].max())
        begin[members] = end + np.arange(len(members)) * most
        end += len(members) * most
        parts.append(np.repeat(order[first[members]], most))
        batches.append((members, most))
    rows, places = np.concatenate(parts), begin[segment] + rank
    rows[places] = np.arange(len(segment))
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    of_batches = zip(batches, np.split(rows, cuts), strict=True)
    return Padding(tuple(padded_batch(*batch, sizes, rows) for batch, rows in of_batches), torch.from_numpy(places))


def padded_batch(members: np.ndarray, most: int, sizes: np.ndarray, rows: np.ndarray) -> PaddedBatch:
    of_members = torch.from_numpy(sizes[members]).float().view(-1, 1, 1)
    return PaddedBatch(torch.from_numpy(members), torch.from_numpy(rows), of_members, most)


def size_classes(sizes: np.ndarray) -> np.ndarray:
    """The class of each segment: 0 for sizes up to a power of two near the mean size, 1 up to twice that, and so on."""
    smallest = np.ceil(np.log2(sizes[sizes > 0].mean()))
    classes: np.ndarray = np.ceil(np.log2(sizes.clip(1)) - smallest).clip(0).astype(np.int64)
    return classes
