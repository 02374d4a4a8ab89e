"""The device's memory bandwidth by working set size: the roofline of a layer.

As in STREAM (McCalpin 1995), a copy moves two arrays, one read and one written, and a sum moves three, two read.  The
bandwidth of a size is that of the faster of the two, in its fastest sample: the limit is what the machine can do, not
what it does on average.  Arrays that fit into a cache are moved faster, so every size has its own bandwidth.
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

SMALLEST, LARGEST = 2**15, 2**28  # bytes; working sets are clipped to this range
SAMPLES = 25
VALUE_BYTES = 4  # of float32
STEADY = 1.25  # a measurement is steady if its median sample takes at most this many times its fastest


class Speed(NamedTuple):
    """steady: nothing else seems to have used the machine during the measurement."""

    bytes_per_s: float
    steady: bool


@dataclass(frozen=True)
class Bandwidth:
    """bytes_per_s: by working set size in bytes, powers of two."""

    bytes_per_s: Mapping[int, float] = field(default_factory=dict)

    def missing(self, working_set: int) -> list[int]:
        """The sizes around a working set that are not measured yet."""
        return [size for size in neighbors(working_set) if size not in self.bytes_per_s]

    def at(self, working_set: int) -> float:
        """The bandwidth for a working set.  Between two sizes, time is interpolated, so it grows with the size."""
        low, high = neighbors(working_set)
        if low == high:
            return self.bytes_per_s[low]
        share = (working_set - low) / (high - low)
        seconds = (1 - share) * low / self.bytes_per_s[low] + share * high / self.bytes_per_s[high]
        return working_set / seconds

    def least_ms(self, moved: int, working_set: int) -> float:
        """The minimum time to move `moved` bytes within a working set."""
        return 1e3 * moved / self.at(working_set)

    def with_faster(self, measured: Mapping[int, Speed]) -> Bandwidth:
        """Keep the fastest result of each size: other programs may have slowed down a measurement."""
        faster = {size: max(self.bytes_per_s.get(size, 0.0), speed.bytes_per_s) for size, speed in measured.items()}
        return Bandwidth({**self.bytes_per_s, **faster})


def neighbors(working_set: int) -> tuple[int, int]:
    """The powers of two around a size; both are equal for a power of two or a size beyond the limits."""
    clipped = min(max(working_set, SMALLEST), LARGEST)
    low = 1 << (clipped.bit_length() - 1)
    return low, low if low == clipped else 2 * low


def measure_bandwidth(
    sizes: Sequence[int], device: torch.device, *, sampler: Sampler | None = None, rng: random.Random | None = None
) -> dict[int, Speed]:
    """Measure the bandwidth of each of these working sets, in interleaved rounds."""
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
    """A copy and a sum whose arrays have `size` bytes in total."""
    halves, thirds = (
        [torch.ones(size // parts // VALUE_BYTES, device=device) for _ in range(parts)] for parts in (2, 3)
    )
    return [partial(halves[1].copy_, halves[0]), partial(torch.add, thirds[0], thirds[1], out=thirds[2])]
