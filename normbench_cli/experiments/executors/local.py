"""Cells in processes on this machine: one per accelerator, or per group of cores.

A process runs many cells.  A thread of the launcher passes it one task after another.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from normbench_cli.device import accelerator_shares, core_share, usable_cores
from normbench_cli.errors import UsageError
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.local_process import LostWorker, WorkerProcess
from normbench_cli.experiments.executors.preparation import Preparation
from normbench_cli.experiments.executors.protocol import Ended, Failed, Lost, Started, Task, TaskEvent, Work
from normbench_cli.experiments.executors.worker_environment import current_worker_environment

STOP_SECONDS = 20.0  # for stopped processes to record how their runs ended


def make_executor(choice: Choice, works: Sequence[Work]) -> LocalExecutor:
    first = works[0].config
    return LocalExecutor(shares_of(choice, first.device, len(works)), Preparation(first, current_worker_environment()))


def shares_of(choice: Choice, device: str, cells: int) -> list[dict[str, str]]:
    """For each process, the environment variables that limit it to its share of the machine."""
    cores, gpus = usable_cores(), choice.per_run.gpus
    if gpus > 1:
        raise UsageError(f"--per-run gpus={gpus:g}, and a run computes on one GPU", "give gpus=1, or a part of one")
    accelerators = accelerator_shares(device)
    on_each = int(1 / gpus) if 0 < gpus < 1 else 1
    most = len(accelerators) * on_each or max(1, cores // (choice.per_run.threads or 1))
    jobs = min(choice.jobs or most, cells)
    threads = choice.per_run.threads or max(1, cores // jobs)
    seen = itertools.cycle(accelerators or [{}])
    return [{**core_share(threads), **next(seen)} for _ in range(jobs)]


class LocalExecutor:
    """Starts a process for each share (see `shares_of`) immediately."""

    def __init__(self, shares: Sequence[Mapping[str, str]], preparation: Preparation) -> None:
        self.notices: Sequence[str] = ()
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[TaskEvent] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads = [WorkerThread(share, preparation, self._tasks, self._events, self._closing) for share in shares]

    def submit(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._tasks.put(task)

    def poll(self, seconds: float) -> Sequence[TaskEvent]:
        try:
            found = [self._events.get(timeout=seconds)]
            while not self._events.empty():
                found.append(self._events.get())
        except queue.Empty:
            return []
        return found

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            self._tasks.put(None)
            thread.stop()
        end = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            thread.kill()


class WorkerThread(threading.Thread):
    """Passes tasks to a process, and replaces the process when it is lost."""

    def __init__(
        self,
        variables: Mapping[str, str],
        preparation: Preparation,
        tasks: queue.SimpleQueue[Task | None],
        events: queue.SimpleQueue[TaskEvent],
        closing: threading.Event,
    ) -> None:
        super().__init__(daemon=True)
        self._variables, self._preparation = variables, preparation
        self._tasks, self._events, self._closing = tasks, events, closing
        self._process: WorkerProcess | None = None
        self.start()

    def run(self) -> None:
        with suppress(OSError):  # the first task tries again and reports it
            self._process = WorkerProcess(self._variables, self._preparation)
        while (task := self._tasks.get()) is not None and not self._closing.is_set():
            self._events.put(Started(task.id))
            try:
                process = self._process = self._process or WorkerProcess(self._variables, self._preparation)
                if self._closing.is_set():  # `stop` came before it was created
                    break
                self._events.put(Ended(task.id, process.run(task)))
            except LostWorker as lost:
                self._process = None
                self._events.put(Lost(task.id, str(lost)))
            except Exception as error:  # of any kind: a task without an end would be waited for forever
                self.kill()
                self._process = None
                self._events.put(Failed(task.id, f"{type(error).__name__}: {error}"))

    def stop(self) -> None:
        """Interrupt the process's run; the process then ends."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
