"""A cell to run, and an executor that runs in this process and loses what a test tells it to lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from normbench_cli import paths
from normbench_cli.config import make_config
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.launch import make_tasks
from normbench_cli.experiments.executors.protocol import Ended, Lost, Started, Task, TaskEvent
from normbench_cli.experiments.executors.worker import run_task
from normbench_cli.experiments.grid import CellWork
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.plan import Cell
from normbench_cli.registry.trust import USER
from normbench_cli.store.location import parse_location

TINY = {"data": "digits:size=8", "model": "mlp:size=8,width=8", "batch_size": 256, "epochs": 1, "norm": "none"}


def works(seeds: int = 1, **settings: Any) -> list[CellWork]:
    configs = [make_config({**TINY, **settings, "seed": seed}, USER) for seed in range(seeds)]
    cells = [Cell(config, name) for config, name in zip(configs, fingerprints(configs), strict=True)]
    return [CellWork(cell, reserves=len(cells) > 1) for cell in cells]


def task_of(**settings: Any) -> Task:
    (task,) = make_tasks(works(**settings), Choice("local"), parse_location(paths.database()).address)
    return task


class Here:
    """One task after the other.  loses: called before each with the number of the attempt; True loses its worker."""

    def __init__(self, loses: Callable[[Task, int], bool] = lambda task, attempt: False) -> None:
        self.notices: Sequence[str] = ["tasks are run here"]
        self.attempts: list[str] = []
        self.closed = False
        self._waiting: list[Task] = []
        self._loses = loses

    def submit(self, tasks: Sequence[Task]) -> None:
        self._waiting += tasks

    def poll(self, seconds: float) -> Sequence[TaskEvent]:
        task = self._waiting.pop(0)
        self.attempts.append(task.id)
        if self._loses(task, self.attempts.count(task.id)):
            return [Started(task.id), Lost(task.id, "the power went")]
        return [Ended(task.id, run_task(task))]

    def close(self) -> None:
        self.closed = True
