"""Cells as tasks of a Ray cluster: an existing one, or one started on this machine for this command."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError, RuntimeEnvSetupError, TaskUnschedulableError

from normbench_cli import interrupts, paths
from normbench_cli.errors import NormbenchError, first_sentence, last_line
from normbench_cli.experiments.executors.choice import Choice, PerRun
from normbench_cli.experiments.executors.protocol import Ended, Failed, Lost, Task, TaskEvent, Work
from normbench_cli.experiments.executors.worker import run_task

CONNECT_SECONDS = 10.0  # for a cluster to answer
STOP_SECONDS = 20.0  # for canceled tasks to record how their runs ended


def make_executor(choice: Choice, _works: Sequence[Work]) -> RayExecutor:
    return RayExecutor(choice)


class RayExecutor:
    """Each task requests the resources of a run.  `jobs` limits the number of tasks submitted to Ray at a time."""

    def __init__(self, choice: Choice) -> None:
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            connect(choice.address)
        self.notices: Sequence[str] = [*unmet(choice.per_run), *shared_disk()]
        self._most = choice.jobs
        takes = choice.per_run
        # the launcher, not Ray, resubmits a lost task
        self._run: Any = ray.remote(run_task).options(num_cpus=takes.cpus, num_gpus=takes.gpus, max_retries=0)
        self._waiting: list[Task] = []
        self._tasks: dict[Any, str] = {}  # by object reference

    def submit(self, tasks: Sequence[Task]) -> None:
        self._waiting += tasks

    def poll(self, seconds: float) -> Sequence[TaskEvent]:
        self._fill()
        ready, _ = ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        if ready:
            ready, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        return [event_of(self._tasks.pop(reference), reference) for reference in ready]

    def _fill(self) -> None:
        room = len(self._waiting) if self._most is None else max(0, self._most - len(self._tasks))
        tasks, self._waiting = self._waiting[:room], self._waiting[room:]
        for task in tasks:
            self._tasks[self._run.remote(task)] = task.id

    def close(self) -> None:
        self._waiting.clear()
        for reference in self._tasks:
            ray.cancel(reference)
        end = time.monotonic() + STOP_SECONDS
        while self._tasks and time.monotonic() < end:
            for reference in ray.wait(list(self._tasks), num_returns=1, timeout=1)[0]:
                self._tasks.pop(reference)
        self._tasks.clear()
        if self._connected_here:
            self._connected_here = False
            ray.shutdown()


def connect(address: str | None) -> None:
    """Connect to the cluster of `--address` or RAY_ADDRESS, to the one running on this machine, or to a new one."""
    where = address or os.environ.get("RAY_ADDRESS", "")
    try:
        check_reachable(where)
        with interrupts.unchanged():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    except (OSError, RayError, RuntimeError, ValueError) as error:
        raise NormbenchError(
            f"there is no Ray cluster at {where or 'this machine'} ({first_sentence(error)})",
            "see `ray status`, or start it",
        ) from error


def check_reachable(address: str) -> None:
    """Raise OSError if nothing answers at HOST:PORT.  Ray itself retries for more than ten minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()


def event_of(task: str, reference: Any) -> TaskEvent:
    """The event of a task that has ended."""
    try:
        return Ended(task, ray.get(reference))
    except (RayTaskError, RuntimeEnvSetupError, TaskUnschedulableError) as error:
        return Failed(task, last_line(error))
    except RayError as error:
        return Lost(task, f"{type(error).__name__}: {first_sentence(error)}")


def shared_disk() -> list[str]:
    """A notice about the disk that several machines must share."""
    machines = {node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]}
    if len(machines) < 2:
        return []
    home = paths.home().absolute()
    return [f"the cluster has {len(machines)} machines: all must see {home} and the database under the same names"]


def unmet(takes: PerRun) -> list[str]:
    """A notice if no machine of the cluster currently has the resources of a run."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    asked = {"CPU": takes.cpus or 0.0, "GPU": takes.gpus}
    if any(all(node.get(name, 0.0) >= amount for name, amount in asked.items()) for node in nodes):
        return []
    words = " and ".join(f"{name} {amount:g}" for name, amount in asked.items() if amount)
    return [f"no machine of the Ray cluster has {words} for a run; the cells wait until one has"]
