"""From works to results: works are submitted, followed while they run, and resubmitted if their worker is lost.

A worker reserves its cell.  If another launcher's process has reserved it first, the cell waits here until that process
has finished it, and is resubmitted if it is left unfinished.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from normbench_cli.experiments.events import Callback, CellState, Notice, RunEnded
from normbench_cli.experiments.executors.choice import Choice, open_executor
from normbench_cli.experiments.executors.protocol import (
    Ended,
    Executor,
    Failed,
    GridWork,
    Lost,
    Started,
    Task,
    TaskEvent,
    Work,
)
from normbench_cli.experiments.executors.watch import Watch
from normbench_cli.experiments.executors.worker_environment import current_worker_environment
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.sharing import Shared
from normbench_cli.interrupts import Interrupted, ignored
from normbench_cli.store import Store

POLL_SECONDS = 1.0  # between two checks of the runs' progress
MOST_LOSSES = 3  # of workers per cell; with one more, the cell fails


def run_works(
    works: Sequence[GridWork],
    choice: Choice,
    store: Store,
    on_event: Callback,
    *,
    executor: Executor | None = None,
    then: str = "",
) -> list[RunResult]:
    """Run all works, and return their results in the same order.  A failed run is a result, too.

    executor: an open one; otherwise one is opened for these works.  then: what to do after an interrupt, for the
    message.
    """
    tasks = make_tasks(works, choice, store.location.address)
    launch = Launch(works, tasks, store, on_event)
    with nullcontext(executor) if executor else open_executor(choice, works) as executor:
        try:
            for notice in executor.notices:
                on_event(Notice(notice))
            launch.submit(tasks, executor)
            watch = Watch(store)
            while launch.left:
                for event in launch.poll(executor):
                    launch.handle(event, executor)
                launch.take_from_others(executor)
                launch.follow(watch)
        except KeyboardInterrupt:
            with ignored():
                executor.close()
            raise Interrupted("; ".join(filter(None, ["interrupted", launch.summary(), then]))) from None
    return [launch.results[task.id] for task in tasks]


def make_tasks(works: Sequence[Work], choice: Choice, db: str) -> list[Task]:
    """db: path or URL, as `Location.address` gives it."""
    name, around = uuid.uuid4().hex[:12], current_worker_environment()
    return [Task(f"{name}-{number}", work, db, around, choice.per_run.threads) for number, work in enumerate(works)]


class Launch:
    """The tasks of one launch, and their results."""

    def __init__(self, works: Sequence[GridWork], tasks: Sequence[Task], store: Store, on_event: Callback) -> None:
        self.left = {task.id: task for task in tasks}
        self.results: dict[str, RunResult] = {}
        self._works = {task.id: work for task, work in zip(tasks, works, strict=True)}
        self._submitted: set[str] = set()
        self._shared: Shared[GridWork] = Shared((), store, on_event)
        self._store = store
        self._numbers = {task.id: number for number, task in enumerate(tasks)}
        self._losses: Counter[str] = Counter()
        self._on_event = on_event

    def submit(self, tasks: Sequence[Task], executor: Executor) -> None:
        self._submitted |= {task.id for task in tasks}
        executor.submit(tasks)

    def poll(self, executor: Executor) -> Sequence[TaskEvent]:
        """The tasks' events since the last call.  Waits a second if other launchers run all remaining cells."""
        if self._submitted:
            return executor.poll(POLL_SECONDS)
        self._shared.say_waiting()
        time.sleep(POLL_SECONDS)
        return []

    def handle(self, event: TaskEvent, executor: Executor) -> None:
        """Handle an event of a task."""
        task = self.left[event.task]
        if not isinstance(event, Started):
            self._submitted.remove(task.id)
        match event:
            case Started():
                self._on_event(CellState(self._numbers[task.id], task.work.config, "running"))
            case Ended(outcome=outcome) if outcome.result.elsewhere:
                self._shared.leave(self._works[task.id], outcome.result.fingerprint)
            case Ended(outcome=outcome):
                for notice in outcome.notices:
                    self._on_event(Notice(notice))
                self._end(task, outcome.result)
            case Failed(why=why):
                self._fail(task, why)
            case Lost(why=why):
                self._lose(task, why, executor)

    def _lose(self, task: Task, why: str, executor: Executor) -> None:
        self._losses[task.id] += 1
        if self._losses[task.id] > MOST_LOSSES:
            return self._fail(task, f"its worker was lost {self._losses[task.id]} times: {why}")
        self._on_event(CellState(self._numbers[task.id], task.work.config, "lost", message=why))
        return self.submit([task], executor)

    def take_from_others(self, executor: Executor) -> None:
        """Collect the results of other launchers, and submit the cells that they left unfinished."""
        tasks = {work.fingerprint: self.left[name] for name, work in self._works.items() if name in self.left}
        for work, run in self._shared.ended():
            task = tasks[work.fingerprint]
            if run is None:
                self.submit([task], executor)
            elif (result := work.made(run.id, self._store)) is not None:
                self._end(task, replace(result, elsewhere=True))
            else:
                rest = self.left[task.id] = replace(task, work=work.again(run.id, run.status, self._store))
                self.submit([rest], executor)

    def _fail(self, task: Task, why: str) -> None:
        work = task.work
        self._end(task, RunResult("", "failed", work.config, {}, why, fingerprint=work.fingerprint))

    def _end(self, task: Task, result: RunResult) -> None:
        del self.left[task.id]
        self.results[task.id] = result
        score = result.metrics.get("test/accuracy", result.metrics.get("validation/accuracy@last"))
        epoch = result.config.epochs if result.status == "finished" else None
        number = self._numbers[task.id]
        self._on_event(CellState(number, task.work.config, result.status, result.id, epoch, score))
        self._on_event(RunEnded(result))

    def follow(self, watch: Watch) -> None:
        """Report the progress of runs from the database."""
        by_fingerprint = {task.work.fingerprint: task for task in self.left.values()}
        for fingerprint, run in watch.changes(by_fingerprint).items():
            task = by_fingerprint[fingerprint]
            number = self._numbers[task.id]
            self._on_event(CellState(number, task.work.config, "running", run.run_id, run.epoch, run.score))

    def summary(self) -> str:
        """How many cells have ended."""
        return f"{len(self.results)} of {len(self._numbers)} cells have ended"
