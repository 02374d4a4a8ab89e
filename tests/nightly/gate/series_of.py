"""Short series for tests of the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from normbench_cli.nightly.gate import REMEASUREMENTS, judge
from normbench_cli.nightly.series import Finding, Kind, Measurement, Point, Series

FIRST_DAY = date(2026, 1, 1)
WAVE = (100.0, 101.0, 99.0, 100.5, 99.5)  # about one percent of noise


def measurement(kind: Kind = "time", *, higher_is_better: bool = False, exact: bool = False) -> Measurement:
    return Measurement("cell", kind, kind, higher_is_better, exact)


def day(night: int) -> date:
    return FIRST_DAY + timedelta(night)


def series(values: Iterable[float], again: Mapping[int, Sequence[float]] | None = None, **of: bool | Kind) -> Series:
    """One night a value.  again: by the number of the night."""
    points = [
        Point(f"n{n}", day(n), value, "class", f"r{n}", tuple((again or {}).get(n, ())))
        for n, value in enumerate(values)
    ]
    return Series(measurement(**of), tuple(points))  # type: ignore[arg-type]


def calm(nights: int, level: float = 1.0) -> list[float]:
    return [level * WAVE[n % len(WAVE)] for n in range(nights)]


def repeated(value: float) -> tuple[float, ...]:
    return (value,) * REMEASUREMENTS


def judged(values: Sequence[float], again: Mapping[int, Sequence[float]] | None = None, **of: bool | Kind) -> Finding:
    return judge(series(values, again, **of))
