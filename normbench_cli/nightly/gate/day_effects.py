"""Day effects: shifts of a night that all times of a suite share, which come from the machine and not from the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from normbench_cli.nightly.gate.band import MAD_TO_SD
from normbench_cli.nightly.gate.policy import (
    FEWEST_NIGHTS,
    FEWEST_TIMES,
    LARGEST_DAY_EFFECT,
    MEDIAN_VARIANCE,
    NOISY,
    USUAL_DAY_EFFECTS,
    WINDOW,
)
from normbench_cli.nightly.series import Series

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DayEffects:
    """Day effects by night, for one group of times.  effects: common factors; noise: as a multiple of the usual."""

    effects: Array
    noise: Array


def with_day_effects(series: Sequence[Series]) -> list[Series]:
    """The same series; points of times get the day effect and noise of their night and group."""
    found = list(series)
    for rough in (False, True):
        rows = [n for n, one in enumerate(series) if (one.measurement.kind, one.measurement.rough) == ("time", rough)]
        marked = _marked([series[n] for n in rows])
        for n, one in zip(rows, marked, strict=True):
            found[n] = one
    return found


def _marked(series: Sequence[Series]) -> list[Series]:
    days = {point.night: point.day for one in series for point in one.points}
    place = {night: column for column, night in enumerate(sorted(days, key=lambda night: days[night]))}
    values = np.full((len(series), len(place)), np.nan)
    for row, one in enumerate(series):
        for point in one.points:
            values[row, place[point.night]] = point.value
    nights = day_effects(values)
    effects = dict(zip(place, nights.effects.tolist(), strict=True))
    noise = dict(zip(place, nights.noise.tolist(), strict=True))
    return [
        replace(one, points=tuple(replace(p, day_effect=effects[p.night], noise=noise[p.night]) for p in one.points))
        for one in series
    ]


def day_effects(values: Array) -> DayEffects:
    """values: times x nights, NaN where a time was not measured.

    The effect is the median over the times of each one's distance to its own last nights, shrunk towards 1 the less the
    times agree.  It is limited by the usual size of such effects: anything beyond may be the code.
    """
    usable = np.isfinite(values) & (values > 0)
    logs = np.log(values, out=np.full(values.shape, np.nan), where=usable)
    count = values.shape[1]
    effects, seen, spreads, noise = np.zeros(count), np.zeros(count), np.full(count, np.nan), np.ones(count)
    for night in range(FEWEST_NIGHTS, count):
        first = max(0, night - WINDOW)
        counted = usable[:, night] & (usable[:, first:night].sum(axis=1) >= FEWEST_NIGHTS)
        if counted.sum() < FEWEST_TIMES:
            continue
        off = logs[counted, night] - _medians(logs[counted, first:night])
        middle = float(np.median(off))
        spreads[night] = MAD_TO_SD * float(np.median(np.abs(off - middle)))
        noise[night] = _times_usual(spreads[night], spreads[first:night])
        seen[night] = _shrunk(middle, MEDIAN_VARIANCE * spreads[night] ** 2 / len(off))
        limit = min(LARGEST_DAY_EFFECT, USUAL_DAY_EFFECTS * float(np.sqrt(np.mean(seen[first:night] ** 2))))
        effects[night] = np.clip(seen[night], -limit, limit)
        logs[:, night] -= effects[night]
    return DayEffects(np.exp(effects), noise)


def _medians(rows: Array) -> Array:
    found: Array = np.median(rows, axis=1) if np.isfinite(rows).all() else np.nanmedian(rows, axis=1)
    return found


def _times_usual(spread: float, before: Array) -> float:
    """Spread over the usual; 1 for an ordinary night."""
    known = before[np.isfinite(before)]
    usual = float(np.median(known)) if known.size else 0.0
    return spread / usual if usual and spread > NOISY * usual else 1.0


def _shrunk(middle: float, variance: float) -> float:
    """Shrink towards 0 by the share of its own uncertainty (James and Stein)."""
    return middle * max(0.0, 1 - variance / middle**2) if middle else 0.0
