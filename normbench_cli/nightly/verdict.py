"""The outcome of a night: every finding of the gate, the cells that failed or were left out, and the exit code.

A verdict is a value: it is stored with its night as JSON (`verdict_json`, `read_verdict`), and pages, the verdict line
and notifications are made from it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_NOTHING_MEASURED, EXIT_OK, EXIT_REGRESSION
from normbench_cli.nightly.series import Finding, Status


@dataclass(frozen=True)
class Mute:
    """A mute of a measurement.  until: the first day on which it counts again."""

    until: date
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """A finding with its evidence.

    again: the values of the immediate re-measurement.  environment_class: of the series' last point.
    """

    finding: Finding
    again: tuple[float, ...] = ()
    environment_class: str = ""
    muted: Mute | None = None

    @property
    def name(self) -> str:
        return self.finding.measurement.name


@dataclass(frozen=True)
class Verdict:
    """The outcome of a night.

    night: its id.  failed, left_out: cells with the reason; left_out had no time within the budget.  message: why the
    night ended early, if it did.  suite_file: the suite's file, if it is not built in.
    """

    suite: str
    night: str
    day: date
    judged: tuple[Judged, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    revision: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    message: str = ""
    suite_file: str = ""

    @cached_property
    def counts(self) -> Counter[Status]:
        """How many unmuted measurements have each status."""
        return Counter(one.finding.status for one in self.judged if one.muted is None)

    @property
    def muted(self) -> list[Judged]:
        return [one for one in self.judged if one.muted]

    def of(self, *statuses: Status) -> list[Judged]:
        """The unmuted measurements with one of these statuses, the largest change first."""
        found = (one for one in self.judged if one.finding.status in statuses and one.muted is None)
        return sorted(found, key=lambda one: -size(one.finding.change))

    @property
    def outcome(self) -> str:
        """One word or two: regression, nothing measured, incomplete, fine.

        Cells left out for the budget do not make a night incomplete: in a suite larger than its budget they take turns,
        and nobody reads an alert that comes every night.  The line and the page count and name them.
        """
        return next(word for word, applies in self._outcomes() if applies)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    def _outcomes(self) -> Iterator[tuple[str, bool]]:
        yield "regression", self.counts["regression"] > 0
        yield "nothing measured", not self.judged
        yield "incomplete", bool(self.failed or self.message)
        yield "fine", True


EXIT_CODES = {
    "regression": EXIT_REGRESSION,
    "nothing measured": EXIT_NOTHING_MEASURED,
    "incomplete": EXIT_INCOMPLETE,
    "fine": EXIT_OK,
}


def size(change: float) -> float:
    """The size of a change; 0 if it is unknown."""
    return abs(change) if change == change else 0.0
