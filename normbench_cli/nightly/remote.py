"""Measuring cells on the workers of an executor: on a node of a Ray cluster, in a SLURM job.

One cell at a time, as always: cells measured concurrently disturb each other's times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from normbench_cli import paths
from normbench_cli.config import RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.experiments.events import Callback
from normbench_cli.experiments.executors.choice import Choice, PerRun, open_executor
from normbench_cli.experiments.executors.launch import MOST_LOSSES, make_tasks
from normbench_cli.experiments.executors.protocol import Ended, Executor, Failed, Lost, Task
from normbench_cli.experiments.result import RunResult
from normbench_cli.nightly.cell import NightlyCell
from normbench_cli.nightly.cell_process import (
    HEARTBEAT_SECONDS,
    Beat,
    CellFailed,
    Measure,
    Measured,
    OutOfTime,
    measure_in_process,
)
from normbench_cli.nightly.cells import measure
from normbench_cli.registry.trust import recorded_in
from normbench_cli.store import Store
from normbench_cli.store.location import parse_location


@contextmanager
def measured_by(choice: Choice | None) -> Iterator[Measure]:
    """Yield how a night measures its cells: here, each in its own process, or on an executor."""
    if choice is None or choice.executor == "local":
        if choice is not None and choice.per_run != PerRun():
            what = "a night on this machine measures one cell after the other, with all its cores"
            raise UsageError(what, "drop --per-run")
        yield measure_in_process
    else:
        with open_executor(choice, []):  # stays connected from cell to cell
            yield partial(measure_elsewhere, choice)


def measure_elsewhere(
    choice: Choice, cell: NightlyCell, db: str | None, source: str, limit: float, beat: Beat
) -> Measured:
    """Measure a cell on a worker.  beat: called every 15 seconds.  limit: seconds until it is stopped."""
    began = time.monotonic()
    work = NightWork(cell, source, make_config(cell.settings, recorded_in(source)))
    (task,) = make_tasks([work], choice, parse_location(paths.database(db)).address)
    with open_executor(choice, [work]) as executor:
        executor.submit([task])
        result = wait(executor, task, began + limit, beat)
    if result is None:
        raise OutOfTime(f"it was stopped after {limit:.0f} s")
    if result.status == "failed":
        raise CellFailed(result.message)
    return Measured(result.metrics, result.id or None, time.monotonic() - began, elsewhere=True)


def wait(executor: Executor, task: Task, end: float, beat: Beat) -> RunResult | None:
    """The task's result; None if time runs out.  A task whose worker is lost is submitted again."""
    losses, next_beat = 0, time.monotonic() + HEARTBEAT_SECONDS
    while (left := end - time.monotonic()) > 0:
        for event in executor.poll(min(1.0, left)):
            match event:
                case Ended(outcome=outcome):
                    return outcome.result
                case Lost() if losses < MOST_LOSSES:
                    losses += 1
                    executor.submit([task])
                case Lost(why=why) | Failed(why=why):
                    raise CellFailed(why)
        if time.monotonic() > next_beat:
            next_beat = time.monotonic() + HEARTBEAT_SECONDS
            beat()
    return None


@dataclass(frozen=True)
class NightWork:
    """A cell as work for an executor; its values become the metrics of the result."""

    cell: NightlyCell
    source: str
    config: RunConfig
    fingerprint: str = ""

    def run(self, store: Store, on_event: Callback) -> RunResult:
        done = measure(self.cell, store, self.source)
        return RunResult(done.run_id or "", "finished", self.config, done.values, fingerprint="")

    def again(self, run_id: str, status: str, store: Store) -> NightWork:
        return self
