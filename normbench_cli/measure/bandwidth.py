"""How many bytes a second the device moves, by the size of what it works on: the roof over a layer's speed.

As in STREAM (McCalpin 1995), a copy moves two arrays, one read and one written, and a sum moves three, two read.  The
bandwidth of a size is that of the faster of the two, in its fastest sample: a limit is what the machine can do, not
what it does on average.  Arrays that fit into a cache are moved faster, so every size has a bandwidth of its own.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch

from normbench_cli.measure.timing import Sampler, Work, sample_ms, warm_up

SMALLEST, LARGEST = 2**15, 2**28  # bytes; a smaller or larger working set is treated like these
SAMPLES = 25
VALUE_BYTES = 4  # of float32
STEADY = 1.25  # a measurement is steady whose median sample takes no longer than this many times its fastest


class Speed(NamedTuple):
    """steady: nothing else seems to have used the machine while it was measured."""

    bytes_per_s: float
    steady: bool


@dataclass(frozen=True)
class Bandwidth:
    """bytes_per_s: by the bytes of the working set, powers of two."""

    bytes_per_s: Mapping[int, float] = field(default_factory=dict)

    def missing(self, working_set: int) -> list[int]:
        """The sizes around a working set that have not been measured yet."""
        return [size for size in neighbors(working_set) if size not in self.bytes_per_s]

    def at(self, working_set: int) -> float:
        """Between two sizes the time of moving the working set is interpolated, so it grows with the size."""
        low, high = neighbors(working_set)
        if low == high:
            return self.bytes_per_s[low]
        share = (working_set - low) / (high - low)
        seconds = (1 - share) * low / self.bytes_per_s[low] + share * high / self.bytes_per_s[high]
        return working_set / seconds

    def least_ms(self, moved: int, working_set: int) -> float:
        """The least time in which so many bytes can be moved within a working set."""
        return 1e3 * moved / self.at(working_set)

    def with_faster(self, measured: Mapping[int, Speed]) -> Bandwidth:
        """Each size as fast as it was ever seen: another program may have slowed down a measurement."""
        faster = {size: max(self.bytes_per_s.get(size, 0.0), speed.bytes_per_s) for size, speed in measured.items()}
        return Bandwidth({**self.bytes_per_s, **faster})


def neighbors(working_set: int) -> tuple[int, int]:
    """The powers of two around a size; both are the same for one that is a power of two or beyond the limits."""
    clipped = min(max(working_set, SMALLEST), LARGEST)
    low = 1 << (clipped.bit_length() - 1)
    return low, low if low == clipped else 2 * low


def measure_bandwidth(
    sizes: Sequence[int], device: torch.device, *, sampler: Sampler | None = None, rng: random.Random | None = None
) -> dict[int, Speed]:
    """How fast each of these working sets is moved, in interleaved rounds."""
    sampler, rng = sampler or sample_ms, rng or random.Random(0)
    kernels = [(size, work) for size in sizes for work in kernels_of(size, device)]
    repeats = [warm_up("", work, device, sampler).repeats for _, work in kernels]
    samples: list[list[float]] = [[] for _ in kernels]
    order = list(range(len(kernels)))
    for _ in range(SAMPLES):
        rng.shuffle(order)
        for index in order:
            samples[index].append(sampler(kernels[index][1], device, repeats[index]))
    found: dict[int, Speed] = {}
    for (size, _), own in zip(kernels, samples, strict=True):
        speed = Speed(size / (min(own) / 1e3), statistics.median(own) <= STEADY * min(own))
        found[size] = max(speed, found.get(size, speed))
    return found


def kernels_of(size: int, device: torch.device) -> list[Work]:
    """A copy and a sum whose arrays have so many bytes in all."""
    halves, thirds = (
        [torch.ones(size // parts // VALUE_BYTES, device=device) for _ in range(parts)] for parts in (2, 3)
    )
    return [partial(halves[1].copy_, halves[0]), partial(torch.add, thirds[0], thirds[1], out=thirds[2])]
