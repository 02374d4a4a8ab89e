"""What the use cases tell their caller while they work, through one callback."""

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
    """A cell of a grid has ended, in whatever status."""

    result: RunResult


@dataclass(frozen=True)
class CasesStarted:
    """So many cases of a corruption are about to be scored."""

    kind: str
    cases: int


@dataclass(frozen=True)
class CellState:
    """How far a cell is that a worker runs.

    number: among the cells that are run, from 0.  state: running, lost, or the status in which its run ended.  epoch,
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
    """The callback of a caller that wants to hear nothing."""
