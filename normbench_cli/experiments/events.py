"""What the use cases tell their caller while they work, through one callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from normbench_cli.config import RunConfig
from normbench_cli.engine.events import Notice, Progress, Record
from normbench_cli.experiments.result import RunResult

__all__ = ["Callback", "CasesStarted", "Event", "Notice", "Progress", "Record", "RunEnded", "RunStarted", "ignore"]


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


Event = Progress | Record | Notice | RunStarted | RunEnded | CasesStarted
Callback = Callable[[Event], object]


def ignore(event: Event) -> None:
    """The callback of a caller that wants to hear nothing."""
