"""What a local worker loads before its first task arrives, while the launcher still checks the cells."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from normbench_cli.config import RunConfig
from normbench_cli.experiments.executors.worker_environment import WorkerEnvironment


@dataclass(frozen=True)
class Preparation:
    """config: of the first cell; the others mostly need the same."""

    config: RunConfig
    worker_environment: WorkerEnvironment

    def prepare(self) -> None:
        """Load the data, and all modules that a training needs."""
        self.worker_environment.enter()
        from normbench_cli.build import check

        with suppress(Exception):  # the launcher checks the same cell and reports what is wrong
            check(self.config)
