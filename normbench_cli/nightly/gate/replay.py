"""A series replayed through the gate night by night: the verdict on each night as of that night."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from normbench_cli.nightly.gate.band import median
from normbench_cli.nightly.gate.exact import ExactTrack
from normbench_cli.nightly.gate.policy import policy_for
from normbench_cli.nightly.gate.track import Track
from normbench_cli.nightly.gate.verdict import Verdict
from normbench_cli.nightly.series import Kind, Measurement, Point, Series

MinimumEffects = Mapping[Kind, float] | None


@dataclass(frozen=True)
class Reading:
    """A point without its day effect, oriented so that more is worse; a non-finite value is infinitely bad."""

    value: float
    again: tuple[float, ...]
    noise: float = 1.0

    @property
    def estimate(self) -> float:
        return median([self.value, *self.again])


def worse_is_more(value: float, measurement: Measurement) -> float:
    if not math.isfinite(value):
        return math.inf
    return -value if measurement.higher_is_better else value


def reading(point: Point, measurement: Measurement) -> Reading:
    again = tuple(worse_is_more(value / point.day_effect, measurement) for value in point.again)
    return Reading(worse_is_more(point.value / point.day_effect, measurement), again, point.noise)


def track_of(measurement: Measurement, minimum_effects: MinimumEffects = None) -> Track | ExactTrack:
    policy = policy_for(measurement, minimum_effects)
    return ExactTrack(policy) if measurement.exact else Track(policy)


def replay(series: Series, minimum_effects: MinimumEffects = None) -> list[Verdict]:
    track = track_of(series.measurement, minimum_effects)
    readings = (reading(point, series.measurement) for point in series.points)
    return [track.add(night.value, night.again, night.noise) for night in readings]


def wants_repetition(series: Series, minimum_effects: MinimumEffects = None) -> bool:
    """Whether the last point needs one more repetition to be judged."""
    track = track_of(series.measurement, minimum_effects)
    *earlier, last = (reading(point, series.measurement) for point in series.points)
    for night in earlier:
        track.add(night.value, night.again, night.noise)
    return track.wants(last.value, last.again, last.noise)
