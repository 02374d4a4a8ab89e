"""Timing things against each other: warmed up, interleaved round by round in random order, every sample kept."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from normbench_cli.device import Stopwatch, synchronize

SMALLEST_LAP_MS = 2.0  # shorter work is repeated within a lap, so that the clock's own cost does not count
LEAST_WARMUP, MOST_WARMUP = 3, 30
SETTLED = 0.1
NOISY = 0.15
BOOTSTRAPS = 2000


@dataclass(frozen=True)
class Timing:
    """The raw laps of one contender in milliseconds, one a round; `warmup` calls came before."""

    name: str
    laps: list[float] = field(default_factory=list)
    warmup: int = 0
    repeats: int = 1

    @property
    def median(self) -> float:
        return statistics.median(self.laps)

    @property
    def iqr(self) -> float:
        low, high = np.percentile(self.laps, (25, 75))
        return float(high - low)

    @property
    def p95(self) -> float:
        return float(np.percentile(self.laps, 95))


@dataclass(frozen=True)
class Ratio:
    """Contender over reference: the median of the rounds' own ratios with a bootstrap 95 % interval."""

    median: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.median if self.median else 0.0


def time_interleaved(
    work: dict[str, Callable[[], object]],
    device: torch.device,
    *,
    rounds: int = 20,
    precision: float | None = None,
    reference: str | None = None,
    seconds: float = 60.0,
    seed: int = 0,
) -> list[Timing]:
    """Time all contenders, each once a round, in an order drawn anew every round.

    With a `precision`, rounds go on until every ratio to `reference` is known that narrowly, or `seconds` are over.
    """
    timings = {name: warm_up(name, function, device) for name, function in work.items()}
    order, draw, began = list(work), random.Random(seed), time.monotonic()
    done = 0
    while done < rounds or (precision and time.monotonic() - began < seconds):
        draw.shuffle(order)
        for name in order:
            timings[name].laps.append(lap(work[name], device, timings[name].repeats))
        done += 1
        if done >= rounds and precision and done % 5 == 0:
            against = timings[reference or order[0]]
            if all(ratio(t, against).width <= precision for t in timings.values()):
                break
    return list(timings.values())


def warm_up(name: str, function: Callable[[], object], device: torch.device) -> Timing:
    """Call until two laps in a row agree, and at least three times; find how many calls make a lap long enough."""
    laps: list[float] = []
    while len(laps) < MOST_WARMUP:
        laps.append(lap(function, device, 1))
        if len(laps) >= LEAST_WARMUP and abs(laps[-1] - laps[-2]) <= SETTLED * laps[-2]:
            break
    repeats = max(1, int(SMALLEST_LAP_MS / max(min(laps), 1e-4)))
    return Timing(name, [], len(laps), min(repeats, 1000))


def lap(function: Callable[[], object], device: torch.device, repeats: int) -> float:
    watch = Stopwatch(device)
    synchronize(device)
    watch.mark()
    for _ in range(repeats):
        function()
    watch.mark()
    return watch.laps_ms()[0] / repeats


def ratio(contender: Timing, reference: Timing, seed: int = 0) -> Ratio:
    pairs = np.array(contender.laps) / np.array(reference.laps)
    drawn = np.random.default_rng(seed).choice(pairs, (BOOTSTRAPS, len(pairs)))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    return Ratio(float(np.median(pairs)), float(low), float(high))


def calibration_spread(device: torch.device) -> float:
    """How much the time of a fixed piece of work spreads on this machine now: IQR over median."""
    a = torch.ones(256, 256, device=device)
    timing = warm_up("calibration", lambda: a @ a, device)
    timing.laps.extend(lap(lambda: a @ a, device, timing.repeats) for _ in range(15))
    return timing.iqr / timing.median


def is_noisy(spread_before: float, spread_after: float, timing: Timing) -> bool:
    """Whether the machine or the contender itself was too unsteady to trust the middle."""
    return max(spread_before, spread_after, timing.iqr / timing.median if timing.median else 0.0) > NOISY
