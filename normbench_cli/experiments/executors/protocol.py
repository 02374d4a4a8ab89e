"""What is run, and what an executor is: it takes tasks, and tells what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback
from normbench_cli.experiments.executors.surroundings import Surroundings
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.sharing import Shareable
from normbench_cli.store import Store


class Work(Protocol):
    """A cell: its configuration, and how it is run.  It is pickled, so its class is defined in a module."""

    @property
    def config(self) -> RunConfig: ...
    @property
    def fingerprint(self) -> str: ...

    def run(self, store: Store, on_event: Callback) -> RunResult:
        """Do the work, and record it.  A `Taken` error if another process does it."""
        ...

    def again(self, run_id: str, status: str, store: Store) -> Self:
        """What is left to do when a worker that was lost has brought this run to this status."""
        ...


class GridWork(Work, Shareable, Protocol):
    """A cell of a grid that several launchers may have been given."""

    def made(self, run_id: str, store: Store) -> RunResult | None:
        """What another process has made of the cell in this run; None if something is left to do."""
        ...


@dataclass(frozen=True)
class Task:
    """A work on its way to a worker.

    id: recorded with the run, so that a second worker finds what the first has begun.  db: path or URL, credentials
    included.  threads: on which torch computes; None for as many as the worker's process has.
    """

    id: str
    work: Work
    db: str = field(repr=False)
    surroundings: Surroundings
    threads: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a worker made of a task: the run's result, which may be that it failed or that another process has the cell
    (`elsewhere`), and the notices on the way."""

    result: RunResult
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """A worker has the task.  Not every executor knows; the run's row in the database shows it, too."""

    task: str


@dataclass(frozen=True)
class Ended:
    """The worker is done with the task."""

    task: str
    outcome: Outcome


@dataclass(frozen=True)
class Failed:
    """No worker can do the task; why, in a sentence."""

    task: str
    why: str


@dataclass(frozen=True)
class Lost:
    """The worker is gone: it was killed, or its machine was.  Why, as far as that is known."""

    task: str
    why: str


Happening = Started | Ended | Failed | Lost


class Executor(Protocol):
    """Something that runs tasks elsewhere, at its own pace."""

    notices: Sequence[str]  # what the user should know of it

    def submit(self, tasks: Sequence[Task]) -> None:
        """Take tasks.  Each ends with exactly one of `Ended`, `Failed` and `Lost`; one that is lost may be submitted
        again."""
        ...

    def happenings(self, seconds: float) -> Sequence[Happening]:
        """What has happened since the last call; waits for something, at most so long."""
        ...

    def close(self) -> None:
        """Stop what is still running, by an interrupt: its runs are recorded as interrupted before this returns."""
        ...
