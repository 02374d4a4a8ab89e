"""Comparative timing of workloads: warmed up, interleaved in random order, every sample kept."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import torch

from normbench_cli.device import Stopwatch, synchronize
from normbench_cli.measure.ratios import Ratio, paired_ratio

SHORTEST_SAMPLE_MS = 2.0  # shorter work is repeated within a sample, so that the clock's overhead is negligible
MIN_WARMUP, MAX_WARMUP = 3, 30  # calls
WARM = 0.1  # work is warm once two samples in a row differ by no more than this fraction
GROWTH, FEWEST_MORE = 0.2, 5  # rounds between two checks of the precision: few checks, as each may stop by chance

Work: TypeAlias = Callable[[], object]
# (work, device, repeats) -> milliseconds per call: `sample_ms`, or in tests a simulation that takes no time
Sampler: TypeAlias = Callable[[Work, torch.device, int], float]
Stopped = Literal["rounds", "precise", "budget"]


@dataclass(frozen=True)
class Prepared:
    """Work with a preparation before every call that is not timed."""

    work: Work
    prepare: Work

    def __call__(self) -> object:
        self.prepare()
        return self.work()


@dataclass(frozen=True)
class Timing:
    """The samples of one contender in milliseconds, one from each round.

    warmup: calls before the first sample; repeats: calls in each sample, which is their mean.
    """

    name: str
    samples: list[float] = field(default_factory=list)
    warmup: int = 0
    repeats: int = 1

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def iqr(self) -> float:
        low, high = np.percentile(self.samples, (25, 75))
        return float(high - low)

    @property
    def p95(self) -> float:
        return float(np.percentile(self.samples, 95))


def time_interleaved(
    work: Mapping[str, Work],
    device: torch.device,
    *,
    rounds: int = 20,
    precision: float | None = None,
    reference: str | None = None,
    seconds: float = 60.0,
    rng: random.Random | None = None,
    sampler: Sampler | None = None,
    clock: Callable[[], float] = time.monotonic,
    between: Callable[[], object] = lambda: None,
) -> list[Timing]:
    """Time all contenders, each once per round, in an order that is shuffled for every round.

    With a `precision`, further rounds follow until every ratio to the `reference` (by default the first contender) has
    an interval that narrow, or until `seconds` have passed.  between: called after each round.
    """
    rng, sampler = rng or random.Random(0), sampler or sample_ms
    timings = {name: warm_up(name, function, device, sampler) for name, function in work.items()}
    against = timings[reference or next(iter(work))]
    order = list(work)
    started = clock()
    done, look = 0, rounds  # look: the number of rounds at which the precision is checked next
    while done < rounds or (precision and clock() - started < seconds):
        rng.shuffle(order)
        for name in order:
            timings[name].samples.append(sampler(work[name], device, timings[name].repeats))
        between()
        done += 1
        if precision and done >= look:
            if is_precise(timings.values(), against, precision):
                break
            look = done + max(FEWEST_MORE, int(done * GROWTH))
    return list(timings.values())


def why_stopped(timings: Iterable[Timing], reference: Timing, precision: float | None) -> Stopped:
    """Why `time_interleaved` stopped."""
    if precision is None:
        return "rounds"
    return "precise" if is_precise(timings, reference, precision) else "budget"


def is_precise(timings: Iterable[Timing], reference: Timing, precision: float) -> bool:
    return all(ratio(timing, reference).width <= precision for timing in timings)


def ratio(contender: Timing, reference: Timing) -> Ratio:
    return paired_ratio(contender.samples, reference.samples)


def warm_up(name: str, work: Work, device: torch.device, sampler: Sampler | None = None) -> Timing:
    """Call the work until it is warm, at least three times, and determine how many calls make a sample long enough."""
    sampler = sampler or sample_ms
    samples: list[float] = []
    while len(samples) < MAX_WARMUP:
        samples.append(sampler(work, device, 1))
        if len(samples) >= MIN_WARMUP and abs(samples[-1] - samples[-2]) <= WARM * samples[-2]:
            break
    repeats = max(1, int(SHORTEST_SAMPLE_MS / max(min(samples), 1e-4)))
    return Timing(name, [], len(samples), min(repeats, 1000))


def sample_ms(work: Work, device: torch.device, repeats: int) -> float:
    """The time of one call in milliseconds: the mean of `repeats` consecutive calls."""
    stopwatch = Stopwatch(device)
    synchronize(device)
    if isinstance(work, Prepared):
        for _ in range(repeats):
            work.prepare()
            stopwatch.mark()
            work.work()
            stopwatch.mark()
        return sum(stopwatch.laps_ms()) / repeats
    stopwatch.mark()
    for _ in range(repeats):
        work()
    stopwatch.mark()
    return stopwatch.laps_ms()[0] / repeats
