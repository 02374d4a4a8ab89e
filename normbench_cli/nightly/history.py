"""Past measurements, as series for the gate and summaries for the pages.  Never loads torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from normbench_cli.nightly.classes import is_deterministic
from normbench_cli.nightly.decisions import Decision, baseline_of, decisions
from normbench_cli.nightly.gate.day_effects import with_day_effects
from normbench_cli.nightly.measurements import SECONDS, measurement
from normbench_cli.nightly.series import Point, Series
from normbench_cli.store import Store
from normbench_cli.store.nights import environments, night_values, nights
from normbench_cli.store.reading import AnyRow

COUNTING = ("running", "finished", "incomplete")  # values of a killed night do not count


@dataclass(frozen=True)
class NightSummary:
    """A night as recorded.

    status: one of NIGHT_STATUSES.  environment_classes: those of its values, sorted.  verdict: as stored JSON.
    """

    id: str
    suite: str
    day: date
    status: str
    message: str
    revision: str
    started_at: datetime
    finished_at: datetime | None
    host: str
    environment: Mapping[str, Any] = field(default_factory=dict)
    environment_classes: tuple[str, ...] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Values:
    """The values of a measurement in a night: its own, and those of the immediate re-measurement."""

    environment_class: str
    unit: str
    own: float
    again: list[float] = field(default_factory=list)


def read_series(store: Store, suite: str) -> list[Series]:
    """Every measurement of the suite's newest night, with its history: the points of its class since the last accepted
    baseline."""
    found = [night for night in read_nights(store, suite) if night.status in COUNTING]
    if not found:
        return []
    measured = values_by_night(night_values(store, suite))
    made = decisions(store, suite)
    return with_day_effects([since_baseline(series, made) for series in make_series(found, measured)])


def make_series(
    nights: Sequence[NightSummary], measured: Mapping[str, Mapping[tuple[str, str], Values]]
) -> list[Series]:
    """A series for each measurement of the last night, of its class.  measured: night -> (cell, metric) -> values."""
    last = nights[-1]
    deterministic = is_deterministic(last.environment)
    found = []
    for (cell, metric), values in measured.get(last.id, {}).items():
        about = measurement(cell, metric, values.unit, deterministic=deterministic)
        if about is not None:
            history = ((night, measured.get(night.id, {}).get((cell, metric))) for night in nights)
            points = [point(night, own) for night, own in history if own and same_class(own, values)]
            found.append(Series(about, tuple(points)))
    return found


def since_baseline(series: Series, made: Sequence[Decision]) -> Series:
    """Drop the nights before the last accepted baseline; the last night always stays."""
    *before, last = series.points
    first = baseline_of(series.measurement, made, last.environment_class)
    return series if first is None else replace(series, points=(*(p for p in before if p.day >= first), last))


def same_class(one: Values, other: Values) -> bool:
    return one.environment_class == other.environment_class


def point(night: NightSummary, values: Values) -> Point:
    return Point(night.id, night.day, values.own, values.environment_class, night.revision, again=tuple(values.again))


def values_by_night(rows: Iterable[AnyRow]) -> dict[str, dict[tuple[str, str], Values]]:
    """Night -> (cell, metric) -> values.  A re-measurement without an original value is ignored."""
    found: dict[str, dict[tuple[str, str], Values]] = {}
    for row in rows:
        night = found.setdefault(row.night_id, {})
        if row.repeat == 0:
            night[row.cell, row.metric] = Values(row.environment_class, row.unit, row.value)
        elif (own := night.get((row.cell, row.metric))) and row.environment_class == own.environment_class:
            own.again.append(row.value)
    return found


def read_nights(store: Store, suite: str) -> list[NightSummary]:
    """All nights of a suite, oldest first."""
    rows = nights(store, suite)
    facts = environments(store, {row.environment_id for row in rows})
    classes: dict[str, set[str]] = {}
    for value in night_values(store, suite):
        classes.setdefault(value.night_id, set()).add(value.environment_class)
    return [summary(row, facts, classes.get(row.id, set())) for row in rows]


def summary(row: AnyRow, facts: Mapping[int, Mapping[str, Any]], classes: Iterable[str]) -> NightSummary:
    names = ("id", "suite", "status", "message", "revision", "started_at", "finished_at", "host", "verdict")
    return NightSummary(
        **{name: getattr(row, name) for name in names},
        day=date.fromisoformat(row.day),
        environment=facts.get(row.environment_id, {}),
        environment_classes=tuple(sorted(classes)),
    )


def last_measured(store: Store, suite: str) -> dict[str, tuple[datetime, float]]:
    """Cell -> when it was last measured, and the seconds it took."""
    found: dict[str, tuple[datetime, float]] = {}
    for row in night_values(store, suite):
        if row.metric == SECONDS and row.repeat == 0:
            found[row.cell] = row.recorded_at, row.value
    return found
