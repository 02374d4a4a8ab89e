"""The finding about the last night of a measurement, for people to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from normbench_cli.nightly.gate.band import Band
from normbench_cli.nightly.gate.change_point import first_night, relative
from normbench_cli.nightly.gate.replay import MinimumEffects, reading, replay, wants_repetition, worse_is_more
from normbench_cli.nightly.gate.verdict import Verdict
from normbench_cli.nightly.gate.wording import reason
from normbench_cli.nightly.series import Finding, Series


@dataclass(frozen=True)
class Change:
    """A change of level.  day: the first night of the new level; before, after: the revisions between which it lies."""

    day: date
    before: str
    after: str
    worse: bool


def suspects(series: Series, minimum_effects: MinimumEffects = None) -> bool:
    """Whether the last point must be measured (once) more before it can be judged.

    Ask again after every repetition: most suspicions are settled by three, and none takes more than REMEASUREMENTS.
    """
    return bool(series.points) and wants_repetition(series, minimum_effects)


def judge(series: Series, minimum_effects: MinimumEffects = None) -> Finding:
    """Return the finding about the last point.

    A regression is reported every night until it is accepted or gone; from the second night on it is `known`.
    """
    if not series.points:
        raise ValueError("a series without points has no last night")
    verdicts = replay(series, minimum_effects)
    last, band = verdicts[-1], verdicts[-1].band
    index = None if last.start is None else _dated(series, verdicts, len(verdicts) - 1)
    low, expected, high = _as_measured(series, band)
    estimate = worse_is_more(last.estimate, series.measurement)
    return Finding(
        measurement=series.measurement,
        status=last.status,
        value=series.points[-1].value,
        expected=expected,
        low=low,
        high=high,
        change=relative(estimate, expected),
        since=None if index is None else series.points[index].day,
        before=series.points[index - 1].revision if index else "",
        after="" if index is None else series.points[index].revision,
        reason=reason(series, last, index),
        known=last.known,
    )


def changes(series: Series, minimum_effects: MinimumEffects = None) -> list[Change]:
    """All changes of level that the gate confirmed in a series and did not withdraw, oldest first."""
    verdicts = replay(series, minimum_effects)
    found = []
    for night in turns(verdicts):
        verdict = verdicts[night]
        index = _dated(series, verdicts, night)
        before, after = series.points[max(0, index - 1)], series.points[index]
        worse = verdict.status == "regression" and not verdict.known
        found.append(Change(after.day, before.revision, after.revision, worse))
    return found


def turns(verdicts: Sequence[Verdict]) -> list[int]:
    """The nights in which a change of level was confirmed, without regressions that were withdrawn later."""
    found: list[int] = []
    for night, verdict in enumerate(verdicts):
        if verdict.changed:
            found.append(night)
        elif verdict.status == "withdrawn":
            while found and (verdicts[found[-1]].start or 0) >= (verdict.start or 0):
                found.pop()
    return found


def _dated(series: Series, verdicts: Sequence[Verdict], night: int) -> int:
    """The first night of the level that a verdict is about.

    The nights after it, until the next change, help to date it; so does the level before, from its own change on.
    """
    start = verdicts[night].start
    assert start is not None
    if series.measurement.exact or verdicts[night].status == "withdrawn":
        return start
    changed = turns(verdicts[: night + 1])
    own = next(n for n in changed if verdicts[n].start == start)
    begin = max((verdicts[n].start or 0 for n in changed if n < own), default=0)
    end = min((n for n, verdict in enumerate(verdicts) if verdict.changed and n > own), default=len(verdicts))
    estimates = [reading(point, series.measurement).estimate for point in series.points[:end]]
    return first_night(estimates, start, begin)


def _as_measured(series: Series, band: Band | None) -> tuple[float, float, float]:
    """low, expected, high in the metric's own direction."""
    if band is None or not math.isfinite(band.expected):
        return math.nan, math.nan, math.nan
    tonight = series.points[-1].day_effect
    low, expected, high = band.low * tonight, band.expected * tonight, band.high * tonight
    return (-high, -expected, -low) if series.measurement.higher_is_better else (low, expected, high)
