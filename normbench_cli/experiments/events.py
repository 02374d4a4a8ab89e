"""The events that use cases report to their caller through one callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from normbench_cli.config import RunConfig
from normbench_cli.engine.events import Notice, Progress, Record
from normbench_cli.experiments.result import RunResult

__all__ = [
    "Callback",
    "CasesStarted",
    "CellState",
    "Event",
    "Notice",
    "Progress",
    "Record",
    "RunEnded",
    "RunStarted",
    "ignore",
]


@dataclass(frozen=True)
class RunStarted:
    """A cell of a grid is about to be trained."""

    config: RunConfig


@dataclass(frozen=True)
class RunEnded:
    """A cell of a grid has ended, with any status."""

    result: RunResult


@dataclass(frozen=True)
class CasesStarted:
    """`cases` severities of a corruption are about to be scored."""

    kind: str
    cases: int


@dataclass(frozen=True)
class CellState:
    """The progress of a cell that a worker runs.

    number: index among the cells that are run, from 0.  state: running, lost, or the final status of its run.  epoch,
    score: of its last accuracy.  message: why it was lost.
    """

    number: int
    config: RunConfig
    state: str
    run_id: str = ""
    epoch: int | None = None
    score: float | None = None
    message: str = ""


Event = Progress | Record | Notice | RunStarted | RunEnded | CasesStarted | CellState
Callback = Callable[[Event], object]


def ignore(event: Event) -> None:
    """A callback that does nothing."""
