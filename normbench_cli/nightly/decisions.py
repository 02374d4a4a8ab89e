"""A person's decisions about measurements: a new baseline is accepted, or a measurement is muted until a day.

Decisions are added, never changed: the last one about a measurement counts.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from normbench_cli.nightly.series import Measurement
from normbench_cli.nightly.verdict import Mute
from normbench_cli.store import Store
from normbench_cli.store.errors import SEE_CHECK
from normbench_cli.store.night_decisions import add_decisions, decision_rows
from normbench_cli.store.reading import AnyRow
from normbench_cli.store.rows import now

DecisionKind = Literal["accept", "mute"]


def user() -> str:
    """The name of the current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user id without a name, as in a container
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


@dataclass(frozen=True)
class Decision:
    """until: the first day that counts (again): history before it is ignored, or the measurement is muted before it.
    measurement: its name.  environment_class: empty for all classes."""

    kind: DecisionKind
    suite: str
    measurement: str
    until: date
    reason: str
    environment_class: str = ""
    author: str = field(default_factory=user)
    host: str = field(default_factory=socket.gethostname)
    made_at: datetime = field(default_factory=now)

    def concerns(self, measurement: Measurement | str, environment_class: str = "") -> bool:
        name = measurement if isinstance(measurement, str) else measurement.name
        return self.measurement == name and self.environment_class in ("", environment_class)


def decisions(store: Store, suite: str) -> list[Decision]:
    """All decisions about a suite, oldest first."""
    return [decision for row in decision_rows(store, suite) if (decision := from_row(store, row))]


def record_decision(store: Store, *made: Decision) -> None:
    """Record decisions, all or none."""
    add_decisions(store, [vars(decision) | {"until": decision.until.isoformat()} for decision in made])


def is_muted(measurement: Measurement | str, made: Iterable[Decision], day: date) -> Mute | None:
    """The mute of a measurement that is in force on this day; None if there is none."""
    last = last_of("mute", measurement, made)
    return Mute(last.until, last.reason) if last and day < last.until else None


def baseline_of(measurement: Measurement | str, made: Iterable[Decision], environment_class: str = "") -> date | None:
    """The first day of a measurement's history that counts, if a baseline was accepted."""
    last = last_of("accept", measurement, made, environment_class)
    return last.until if last else None


def last_of(
    kind: DecisionKind, measurement: Measurement | str, made: Iterable[Decision], environment_class: str = ""
) -> Decision | None:
    """The last decision of this kind about a measurement."""
    found = None
    for decision in made:
        if decision.kind == kind and decision.concerns(measurement, environment_class):
            found = decision
    return found


def in_force(made: Sequence[Decision], day: date) -> list[Decision]:
    """The last decision of each kind about each measurement, without expired mutes."""
    last = {(decision.kind, decision.measurement, decision.environment_class): decision for decision in made}
    return [decision for decision in last.values() if decision.kind == "accept" or day < decision.until]


def from_row(store: Store, row: AnyRow) -> Decision | None:
    """A decision from its row; None if `until` is not a day."""
    try:
        values = {name: getattr(row, name) for name in Decision.__dataclass_fields__ if name != "until"}
        return Decision(until=date.fromisoformat(row.until), **values)
    except ValueError as error:
        store.left_out[f"row {row.id} of night_decisions"] = f"{error} ({SEE_CHECK})"
        return None
