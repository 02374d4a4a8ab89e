"""A night in the database: started, or continued if it was killed today; its cells recorded; and ended."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from normbench_cli.errors import DatabaseError
from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.cell_process import Measured
from normbench_cli.nightly.classes import environment_class
from normbench_cli.nightly.measurements import SECONDS, unit_of_metric
from normbench_cli.store import Store
from normbench_cli.store.nights import (
    beat_night,
    begin_night,
    environments,
    mark_killed,
    night_values,
    nights,
    record_cell,
    reopen_night,
)
from normbench_cli.store.reading import AnyRow
from normbench_cli.store.stale import dead_nights


@dataclass
class Night:
    """A night that this process executes.

    measured: the cells that have values, in order of measurement.  failed, left_out: cells with the reason.
    """

    store: Store
    suite: NightlySuite
    id: str
    day: date
    environment: Mapping[str, Any]
    measured: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def beat(self) -> None:
        with suppress(DatabaseError):  # the next one follows
            beat_night(self.store, self.id)

    def record(self, cell: NightlyCell, done: Measured, repeat: int = 0) -> None:
        """Record all values of a cell in one transaction."""
        values = done.values | ({SECONDS: done.seconds} if repeat == 0 else {})
        record_cell(
            self.store,
            self.id,
            cell.name,
            values,
            environment_class=environment_class(self._where(done), cell),
            run_id=done.run_id,
            repeat=repeat,
            units={metric: unit_of_metric(metric) for metric in values},
        )
        if repeat == 0:
            self.measured.append(cell.name)

    def _where(self, done: Measured) -> Mapping[str, Any]:
        """The facts of the machine that measured."""
        if done.elsewhere and done.run_id:
            return self.store.find(done.run_id).environment.facts
        return self.environment


def open_night(store: Store, suite: NightlySuite, day: date, environment: Mapping[str, Any]) -> Night:
    """Continue today's killed night of the suite, if it ran with the same code and versions; otherwise begin a new one.

    Other nights whose process is gone are marked as killed.
    """
    dead = {night.id for night in dead_nights(store, timedelta(0))}
    found = [night for night in nights(store, suite.name) if night.status == "killed" or night.id in dead]
    for night in found:
        if night.status == "running":
            mark_killed(store, night)
    today = [night for night in found if night.day == day.isoformat() and facts_of(store, night) == environment]
    if not today:
        revision = str(environment.get("git_sha") or "")
        return Night(store, suite, begin_night(store, suite.name, day, revision, environment), day, environment)
    return continued(store, suite, today[-1], environment)


def continued(store: Store, suite: NightlySuite, night: AnyRow, environment: Mapping[str, Any]) -> Night:
    """Continue a killed night.  Cells that it measured with their present settings are kept."""
    classes = {cell.name: environment_class(environment, cell) for cell in suite.cells}
    recorded = {
        value.cell: value.environment_class for value in night_values(store, suite.name) if value.night_id == night.id
    }
    kept = [cell for cell, its_class in recorded.items() if classes.get(cell) == its_class]
    reopen_night(store, night.id, stale=recorded.keys() - set(kept))
    return Night(store, suite, night.id, date.fromisoformat(night.day), environment, kept)


def facts_of(store: Store, night: AnyRow) -> Mapping[str, Any]:
    return environments(store, [night.environment_id]).get(night.environment_id, {})
