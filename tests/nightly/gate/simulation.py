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
from normbench_cli.nightly.gate.policy import POLICIES, REMEASUREMENTS
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
    standard deviation of what all measurements of a night have in common.  Together they are 3 % between nights.
    drift: the largest linear drift over 30 nights, to either side; wander: a random walk per night.  One night in ten
    is noisy: its noise is three times as large.  sticky: standard deviation of what a night does to one measurement,
    repetitions included.
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


@dataclass(frozen=True)
class Histories:
    """values: measurements x nights.  again: measurements x nights x repetitions."""

    values: Array
    again: Array


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


def with_step(one: Histories, night: int, size: float) -> Histories:
    factor = np.where(np.arange(one.values.shape[1]) >= night, 1 + size, 1.0)
    return Histories(one.values * factor, one.again * factor[:, None])


def follow(track: Track, values: Array, again: Array) -> Iterator[tuple[Verdict, tuple[float, ...]]]:
    """Night by night: the verdict, and the repetitions that the gate asked for."""
    for value, repetitions in zip(values.tolist(), again.tolist(), strict=True):
        taken: tuple[float, ...] = ()
        while track.wants(value, taken):
            taken = (*taken, repetitions[len(taken)])
        yield track.add(value, taken), taken


@dataclass
class FalseAlarms:
    """Nights of a suite in which nothing changed.  new: with a new regression; standing: with one, new or not."""

    nights: int = 0
    new: int = 0
    standing: int = 0
    improvements: int = 0
    repetitions: int = 0


def false_alarms(seed: int, count: int, *, times: int = 40, world: World = USUAL) -> FalseAlarms:
    """Suites without a change: `times` times, a quarter as many peak memories, a tenth as many unrepeatable losses."""
    rng, result = np.random.default_rng(seed), FalseAlarms()
    calm = World(0.01, 0.0, 0.005, 0.0, 0.0)
    for _ in range(count):
        suite = [(POLICIES["time"], histories(rng, times, world))]
        suite += [(POLICIES["memory"], histories(rng, times // 4, calm))]
        loss = histories(rng, times // 10, World(0.01, 0.0, 0.0, 0.0, 0.0))
        suite += [(POLICIES["accuracy"], Histories(loss.values / 200, loss.again / 200))]
        nights = np.zeros((3, NIGHTS), dtype=bool)
        for policy, part in suite:
            for values, again in zip(part.values, part.again, strict=True):
                for night, (verdict, taken) in enumerate(follow(Track(policy), values, again)):
                    worse = verdict.status == "regression"
                    better = verdict.status == "improvement" and not verdict.back
                    nights[:, night] |= worse and not verdict.known, worse, better
                    result.repetitions += len(taken)
        result.nights += NIGHTS
        result.new += int(nights[0].sum())
        result.standing += int(nights[1].sum())
        result.improvements += int(nights[2].sum())
    return result


@dataclass
class Found:
    """Planted slowdowns.  delays: nights until each was reported, None if not within the history; errors: of its
    date, in nights, for those reported within three; later: the same six nights on."""

    delays: list[int | None] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)

    def share_within(self, nights: int) -> float:
        return sum(delay is not None and delay < nights for delay in self.delays) / len(self.delays)

    def share_dated(self, nights: int = 2) -> float:
        return sum(abs(error) <= nights for error in self.errors) / max(1, len(self.errors))


def planted(seed: int, count: int, size: float, world: World = USUAL) -> Iterator[tuple[int, Histories]]:
    """Histories of one measurement with a slowdown, and the night that it begins with."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        night = int(rng.integers(EARLIEST, NIGHTS - 2))
        yield night, with_step(histories(rng, 1, world), night, size)


def found_by_gate(seed: int, count: int, size: float, world: World = USUAL) -> Found:
    """How soon the gate reports a planted slowdown, and which night it says that it began with."""
    result = Found()
    for start, one in planted(seed, count, size, world):
        verdicts = []
        taken: list[tuple[float, ...]] = []
        for verdict, repetitions in follow(Track(POLICIES["time"]), one.values[0], one.again[0]):
            verdicts.append(verdict)
            taken.append(repetitions)
        nights = range(start, NIGHTS)
        night = next((n for n in nights if verdicts[n].changed and verdicts[n].status == "regression"), None)
        result.delays.append(None if night is None else night - start)
        if night is not None and night < start + 3:
            result.errors.append(dated(one, taken, night) - start)
            later = night + 6
            if later < NIGHTS and verdicts[later].status == "regression":
                result.later.append(dated(one, taken, later) - start)
    return result


def dated(one: Histories, taken: Sequence[tuple[float, ...]], night: int) -> int:
    """The night that the gate, asked at a later one, says a regression began with."""
    finding = judge(as_series(one.values[0][: night + 1], taken))
    assert finding.since is not None
    return (finding.since - FIRST_DAY).days


def as_series(values: Array, again: Sequence[tuple[float, ...]], measurement: Measurement = TIME) -> Series:
    """One night a day, one revision a night."""
    points = [
        Point(f"n{n}", FIRST_DAY + timedelta(n), float(value), "class", f"r{n}", again[n])
        for n, value in enumerate(values)
    ]
    return Series(measurement, tuple(points))
