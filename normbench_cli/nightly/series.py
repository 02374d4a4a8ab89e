"""Nightly measurements, one series each, and the gate's finding about a series."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Kind = Literal["time", "memory", "accuracy", "solver"]
Status = Literal[
    "fine",
    "suspected",  # outside its band, and not measured again yet
    "regression",
    "improvement",
    "withdrawn",  # a regression that earlier nights reported, and later ones did not confirm
    "too short",  # too few nights to judge
    "new baseline",  # the first night of a class, or the first after a baseline was accepted
]


@dataclass(frozen=True)
class Measurement:
    """One metric of one cell of a nightly suite.

    exact: two nights of the same code agree to the last digit, so that any difference counts.  rough: a time that was
    not interleaved with its reference.
    """

    cell: str
    metric: str
    kind: Kind
    higher_is_better: bool = False
    exact: bool = False
    unit: str = ""
    rough: bool = False

    @property
    def name(self) -> str:
        """Unique in a suite; `nightly accept` and `nightly mute` take it."""
        return f"{self.cell} {self.metric}"


@dataclass(frozen=True)
class Point:
    """One night's measurement.

    environment_class: the hash of hardware, versions and settings; points are compared within one class.  revision: the
    commit of the code, empty outside a checkout.  again: the values of the immediate re-measurement, if any.
    day_effect: the factor that this night applies to all measurements of the group.  noise: of the night, as a multiple
    of the usual.
    """

    night: str
    day: date
    value: float
    environment_class: str = ""
    revision: str = ""
    again: tuple[float, ...] = ()
    day_effect: float = 1.0
    noise: float = 1.0


@dataclass(frozen=True)
class Series:
    """All points of a measurement, oldest first, of one class since its baseline."""

    measurement: Measurement
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Finding:
    """The gate's finding about the last point of a series.

    low, high: the band that it was compared with.  change: estimate / expected - 1.  since: the first night of the
    present level, if a change point was found; before, after: the revisions between which it changed.  known: an
    earlier night already reported this regression.
    """

    measurement: Measurement
    status: Status
    value: float
    expected: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    change: float = float("nan")
    since: date | None = None
    before: str = ""
    after: str = ""
    reason: str = ""
    known: bool = False
