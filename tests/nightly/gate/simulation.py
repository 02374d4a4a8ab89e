"""Histories of a nightly suite with known faults, and how often the gate is right about them.

``python -m tests.nightly.gate.compare`` prints what comes of it, beside other tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from normbench_cli.nightly.gate import judge
from normbench_cli.nightly.gate.day_effects import day_effects
from normbench_cli.nightly.gate.policy import POLICIES, REMEASUREMENTS, Policy
from normbench_cli.nightly.gate.track import Track
from normbench_cli.nightly.gate.verdict import Verdict
from normbench_cli.nightly.series import Measurement, Point, Series

NIGHTS = 30
EARLIEST = 12  # planted slowdowns begin at this night or later
T3_ROBUST_SD = 1.1339  # 1.4826 times the median absolute deviation of Student's t with 3 degrees of freedom
FIRST_DAY = date(2026, 1, 1)
TIME = Measurement("cell", "time", "time", unit="ms")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """How a suite's times vary, relative to their level.

    noise: robust standard deviation of one measurement within a night, Student's t with 3 degrees of freedom.  day:
    standard deviation of what all measurements of a night have in common.  drift: the largest linear drift over 30
    nights, to either side; wander: a random walk per night.  One night in ten is noisy: its noise is three times as
    large.  sticky: standard deviation of what a night does to one measurement, repetitions included.
    """

    noise: float = 0.028
    day: float = 0.011
    drift: float = 0.02
    wander: float = 0.0015
    noisy_nights: float = 0.1
    noisy_times: float = 3.0
    sticky: float = 0.0


USUAL = World()
HARDER = World(noise=0.03, day=0.015, drift=0.03, wander=0.002)
CALM = World(0.01, 0.0, 0.005, 0.0, 0.0)  # of peak memories
LOSSES = World(0.01, 0.0, 0.0, 0.0, 0.0)
TIMES, SORT, MEMORIES, LOSS = 40, 20, 10, 4  # measurements of a suite; times that share their day effects


@dataclass(frozen=True)
class Histories:
    """values: measurements x nights.  again: measurements x nights x repetitions."""

    values: Array
    again: Array
    noise: Array | None = None  # of each night, as the gate estimates it from all measurements

    def without_day_effects(self) -> Histories:
        """As the gate sees them."""
        nights = day_effects(self.values)
        return Histories(self.values / nights.effects, self.again / nights.effects[:, None], nights.noise)

    def follow(self, track: Track, row: int) -> Iterator[tuple[Verdict, tuple[float, ...]]]:
        """Night by night: the verdict, and the repetitions that the gate asked for."""
        values, again = self.values[row].tolist(), self.again[row].tolist()
        noise = [1.0] * len(values) if self.noise is None else self.noise.tolist()
        for value, repetitions, noisy in zip(values, again, noise, strict=True):
            taken: tuple[float, ...] = ()
            while len(taken) < len(repetitions) and track.wants(value, taken, noisy):
                taken = (*taken, repetitions[len(taken)])
            yield track.add(value, taken, noisy), taken


def histories(rng: np.random.Generator, measurements: int, world: World = USUAL, nights: int = NIGHTS) -> Histories:
    """One suite's nights: measurements share the day effects and the noisy nights."""
    noise = world.noise / T3_ROBUST_SD * np.where(rng.random(nights) < world.noisy_nights, world.noisy_times, 1.0)
    common = rng.normal(0, world.day, nights)
    slope = rng.uniform(-world.drift, world.drift, (measurements, 1)) * np.linspace(0, nights / NIGHTS, nights)
    level = common + slope + np.cumsum(rng.normal(0, world.wander, (measurements, nights)), axis=1)
    level += rng.normal(0, world.sticky, level.shape)
    draws = rng.standard_t(3, (measurements, nights, REMEASUREMENTS + 1)) * noise[:, None]
    times = 100 * np.exp(level[..., None] + draws)
    return Histories(times[..., 0], times[..., 1:])


def times_of_suites(seed: int, count: int, world: World = USUAL) -> Iterator[Histories]:
    """The times of suites without a change; the first ones of a larger count are those of a smaller one."""
    for n in range(count):
        yield histories(np.random.default_rng([seed, 0, n]), TIMES, world)


def planted(seed: int, count: int, size: float, world: World = USUAL) -> Iterator[tuple[int, Histories]]:
    """Suites of which the first measurement has a slowdown, and the night that it begins with."""
    for n in range(count):
        rng = np.random.default_rng([seed, 1, n])
        night = int(rng.integers(EARLIEST, NIGHTS - 2))
        one = histories(rng, SORT, world)
        factor = np.ones(one.values.shape)
        factor[0, night:] = 1 + size
        yield night, Histories(one.values * factor, one.again * factor[..., None])


@dataclass
class FalseAlarms:
    """Nights of a suite in which nothing changed.  new: with a new regression; standing: with one, new or not, which is
    exit code 3."""

    nights: int = 0
    new: int = 0
    standing: int = 0
    improvements: int = 0
    repetitions: int = 0


def false_alarms(seed: int, count: int, world: World = USUAL) -> FalseAlarms:
    """Suites without a change: 40 times, 10 peak memories and 4 losses that do not repeat."""
    result = FalseAlarms()
    for n, times in enumerate(times_of_suites(seed, count, world)):
        nights = np.zeros((3, NIGHTS), dtype=bool)
        for policy, part in noisy_parts(times, np.random.default_rng([seed, 2, n])):
            for row in range(len(part.values)):
                for night, (verdict, taken) in enumerate(part.follow(Track(policy), row)):
                    worse = verdict.status == "regression"
                    better = verdict.status == "improvement" and not verdict.back
                    nights[:, night] |= worse and not verdict.known, worse, better
                    result.repetitions += len(taken)
        result.nights += NIGHTS
        result.new += int(nights[0].sum())
        result.standing += int(nights[1].sum())
        result.improvements += int(nights[2].sum())
    return result


def noisy_parts(times: Histories, rng: np.random.Generator) -> Iterator[tuple[Policy, Histories]]:
    """What does not repeat to the last digit in a suite."""
    for first in range(0, TIMES, SORT):
        sort = Histories(times.values[first : first + SORT], times.again[first : first + SORT])
        yield POLICIES["time"], sort.without_day_effects()
    yield POLICIES["memory"], histories(rng, MEMORIES, CALM)
    loss = histories(rng, LOSS, LOSSES)
    yield POLICIES["accuracy"], Histories(loss.values / 200, loss.again / 200)


@dataclass
class Found:
    """Planted slowdowns.  delays: nights until each was reported, None if not within the history; errors: of its
    date, in nights, for those reported within three; later: the same six nights on.  stood, due: nights after the
    report in which it was still a regression, of all."""

    delays: list[int | None] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    stood: int = 0
    due: int = 0

    def share_within(self, nights: int) -> float:
        return sum(delay is not None and delay < nights for delay in self.delays) / len(self.delays)

    def share_dated(self, nights: int = 2) -> float:
        return sum(abs(error) <= nights for error in self.errors) / max(1, len(self.errors))

    def share_standing(self) -> float:
        return self.stood / max(1, self.due)


def found_by_gate(seed: int, count: int, size: float, world: World = USUAL) -> Found:
    """How soon the gate reports a planted slowdown, which night it says that it began with, and whether it stands."""
    result = Found()
    for start, suite in planted(seed, count, size, world):
        one = suite.without_day_effects()
        told = list(one.follow(Track(POLICIES["time"]), 0))
        worse = [verdict.status == "regression" for verdict, _ in told]
        night = next((n for n in range(start, NIGHTS) if worse[n]), None)
        result.delays.append(None if night is None else night - start)
        if night is None:
            continue
        result.stood += sum(worse[night + 1 :])
        result.due += NIGHTS - night - 1
        if night < start + 3:
            taken = [again for _, again in told]
            result.errors.append(dated(one, taken, night) - start)
            if night + 6 < NIGHTS and worse[night + 6]:
                result.later.append(dated(one, taken, night + 6) - start)
    return result


def dated(one: Histories, taken: Sequence[tuple[float, ...]], night: int) -> int:
    """The night that the gate, asked at a later one, says a regression began with."""
    since = judge(as_series(one, taken, night + 1)).since
    return (since - FIRST_DAY).days if since else -NIGHTS


def as_series(one: Histories, again: Sequence[tuple[float, ...]], nights: int) -> Series:
    """The first measurement: one night a day, one revision a night."""
    noise = [1.0] * nights if one.noise is None else one.noise.tolist()
    points = [
        Point(f"n{n}", FIRST_DAY + timedelta(n), float(value), "class", f"r{n}", again[n], noise=noise[n])
        for n, value in enumerate(one.values[0][:nights])
    ]
    return Series(TIME, tuple(points))
