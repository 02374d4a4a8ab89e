"""The gate's verdict on one night of one measurement, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass

from normbench_cli.nightly.gate.band import Band
from normbench_cli.nightly.series import Status


@dataclass(frozen=True, slots=True)
class Verdict:
    """start: the index of the night in which the change was first seen.

    known: the regression was reported before.  changed: the level changed with this night.  back: it returned to the
    level before a regression.  unsure: off the raised level, unconfirmed.  refuted: outside at first, but repetitions
    lay inside.  creep: how much the level drifted since the first nights.  nonreproducible: repetitions of an exact
    measurement differ.
    """

    status: Status
    band: Band | None = None
    estimate: float = float("nan")
    start: int | None = None
    direction: int = 0
    known: bool = False
    changed: bool = False
    back: bool = False
    unsure: bool = False
    refuted: bool = False
    creep: float = 0.0
    nonreproducible: bool = False
