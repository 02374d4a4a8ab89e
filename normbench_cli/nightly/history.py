"""What nights measured so far, as series for the gate and summaries for the pages.  Never loads torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from normbench_cli.nightly.series import Series
from normbench_cli.store import Store


@dataclass(frozen=True)
class NightSummary:
    """A night as it is recorded.

    status: one of NIGHT_STATUSES.  environment_classes: those of its values, sorted.  verdict: what it came to.
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


def read_series(store: Store, suite: str, day: date | None = None) -> list[Series]:
    """Every measurement of the suite's newest night (or of the night of a day), with its history.

    A series ends with that night and has the points of one class since the last accepted baseline.
    """
    raise NotImplementedError


def read_nights(store: Store, suite: str) -> list[NightSummary]:
    """All nights of a suite, oldest first."""
    raise NotImplementedError
