"""Running a task in a worker, in any process on any machine.  Loads torch."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from normbench_cli import interrupts
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.events import Event, Notice
from normbench_cli.experiments.executors.protocol import Outcome, Task, Work
from normbench_cli.experiments.lifecycle import with_loss
from normbench_cli.experiments.result import RunResult
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.processes import is_alive
from normbench_cli.store.reading import AnyRow
from normbench_cli.store.recording import TASK
from normbench_cli.store.tasks import run_of_task

EXIT_SECONDS = 30.0  # for a lost worker to end


def run_task(task: Task) -> Outcome:
    """Run the cell, or continue the run that an earlier worker began.  An interrupt is recorded and raised."""
    task.worker_environment.enter()
    if task.threads is not None and torch.get_num_threads() != task.threads:
        torch.set_num_threads(task.threads)
    with interrupts.raised(), collected_warnings() as notices:
        try:
            result = recorded_work(task, notices)
        except Taken as taken:
            known = taken.fingerprint or task.work.fingerprint
            result = RunResult("", "running", task.work.config, {}, str(taken), fingerprint=known, elsewhere=True)
        except Exception as error:  # of any kind: it must not stop the other cells
            work, why = task.work, f"{type(error).__name__}: {error}"
            result = RunResult("", "failed", work.config, {}, why, fingerprint=work.fingerprint)
    return Outcome(result, tuple(notices))


def recorded_work(task: Task, notices: list[str]) -> RunResult:
    def on_event(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    with Store.open(task.db) as store:
        store.labels[TASK] = task.id
        return with_loss(what_is_left(task, store).run(store, on_event), store)


def what_is_left(task: Task, store: Store) -> Work:
    """The work, without the part that a lost worker did."""
    run = run_of_task(store, task.work.fingerprint, task.id)
    if run is None:
        return task.work
    status: str = run.status
    if status == "running":
        wait_until_gone(run)
        store.mark_interrupted([run])
        status = "interrupted"
    return task.work.again(run.id, status, store)


def wait_until_gone(run: AnyRow) -> None:
    """Wait for the process of a run to end, as a lost worker may take a moment; not possible on another machine."""
    end, seen = time.monotonic() + EXIT_SECONDS, run.host == socket.gethostname() and run.pid != os.getpid()
    while seen and is_alive(run.pid, run.process_started):
        if time.monotonic() > end:
            raise NormbenchError(f"run {run.id} is running, in process {run.pid} on {run.host}", "stop it first")
        time.sleep(0.1)


class MessageCollector(logging.Handler):
    """Collects the messages logged for the user."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings that normbench logs in this block, as nobody reads a worker's stderr."""
    lines: list[str] = []
    logger, collector = logging.getLogger("normbench_cli"), MessageCollector(lines)
    before = logger.propagate
    logger.addHandler(collector)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(collector)
        logger.propagate = before
