"""What a worker loads before its first task is there: while the launcher checks the cells, so must the worker load."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from normbench_cli.config import RunConfig
from normbench_cli.experiments.executors.surroundings import Surroundings


@dataclass(frozen=True)
class Preparation:
    """config: of one of the cells; the others need much the same."""

    config: RunConfig
    surroundings: Surroundings

    def prepare(self) -> None:
        """Load the data, and all modules that a training needs."""
        self.surroundings.enter()
        from normbench_cli.build import check

        with suppress(Exception):  # the launcher checks the cell, too, and says what is wrong with it
            check(self.config)
