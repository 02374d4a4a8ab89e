"""The interface between the launcher and executors: works, tasks, the events of a task, and `Executor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback
from normbench_cli.experiments.executors.worker_environment import WorkerEnvironment
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
        """Run and record the cell.  Raises `Taken` if another process has reserved it."""
        ...

    def again(self, run_id: str, status: str, store: Store) -> Self:
        """The work that remains after a lost worker left this run with this status."""
        ...


class GridWork(Work, Shareable, Protocol):
    """A cell of a grid that several launchers may share."""

    def made(self, run_id: str, store: Store) -> RunResult | None:
        """The cell's result from another process's run; None if something is left to do."""
        ...


@dataclass(frozen=True)
class Task:
    """A work, with everything that a worker needs to run it.

    id: recorded with the run, so that a second worker finds what the first has begun.  db: path or URL, including
    credentials.  threads: of torch; None for as many as the worker's process has.
    """

    id: str
    work: Work
    db: str = field(repr=False)
    worker_environment: WorkerEnvironment
    threads: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a worker returns: the run's result, and notices for the user.

    The result may also be that the run failed, or that another process has reserved the cell (`elsewhere`).
    """

    result: RunResult
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """A worker has begun the task.  Not every executor reports it; the run's row in the database shows it, too."""

    task: str


@dataclass(frozen=True)
class Ended:
    """The worker has finished the task."""

    task: str
    outcome: Outcome


@dataclass(frozen=True)
class Failed:
    """No worker can run the task.  why: a sentence."""

    task: str
    why: str


@dataclass(frozen=True)
class Lost:
    """The worker was lost: killed, or its machine went down.  why: the reason, if known."""

    task: str
    why: str


TaskEvent = Started | Ended | Failed | Lost


class Executor(Protocol):
    """Runs tasks in other processes."""

    notices: Sequence[str]  # for the user, about the executor itself

    def submit(self, tasks: Sequence[Task]) -> None:
        """Accept tasks.  Each ends with exactly one of `Ended`, `Failed` and `Lost`; a lost one may be submitted
        again."""
        ...

    def poll(self, seconds: float) -> Sequence[TaskEvent]:
        """The events since the last call.  Waits for the first one, at most this long."""
        ...

    def close(self) -> None:
        """Interrupt all tasks in progress; their runs are recorded as interrupted before this returns."""
        ...
