"""Training a grid of runs: the cells that are due, sequentially or by the workers of an executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from normbench_cli import build, paths
from normbench_cli.axes.experiment import make_experiment
from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.config import RunConfig
from normbench_cli.datasets._files.reading import read_contents
from normbench_cli.experiments.distributed.rank import check_executor
from normbench_cli.experiments.events import Callback, Notice, RunEnded, RunStarted, ignore
from normbench_cli.experiments.executors.choice import Choice, choose, open_executor
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.experiments.executors.protocol import Executor
from normbench_cli.experiments.lifecycle import with_loss
from normbench_cli.experiments.plan import Cell, check_cells, plan_grid
from normbench_cli.experiments.recorded import packages_of, recorded_result
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.sharing import Shared, check_free, known_run
from normbench_cli.experiments.train import resume_run, train_run
from normbench_cli.interrupts import Interrupted
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.status import WITH_RESULT

THEN = "the same command trains the cells that are left"
RESUMABLE = "`normbench runs list --status interrupted` shows the runs that `--resume` continues"


def train(
    experiment: str | Path | None = None,
    *,
    norm: str | Iterable[str] | None = None,
    act: str | Iterable[str] | None = None,
    model: str | Iterable[str] | None = None,
    data: str | Iterable[str] | None = None,
    objective: str | Iterable[str] | None = None,
    seeds: int | str | Iterable[int] | None = None,
    zip: str | Iterable[str | Iterable[str]] = (),
    rerun: bool = False,
    db: str | None = None,
    allow: str | Iterable[str] = (),
    executor: str | None = None,
    jobs: int | None = None,
    per_run: str | None = None,
    address: str | None = None,
    on_event: Callback = ignore,
    **settings: Any,
) -> list[RunResult]:
    """Train and record one run, or a grid of runs if several values are given.

    A cell of a grid that already has a result is not trained again, unless `rerun`; its recorded result is returned.
    In a grid, a failed run is a result with the status "failed"; the error of a single run is raised.

    experiment: an experiment file, whose settings the others override.  seeds: a number, numbers, or text such as
    "0-9".  settings: any other setting of a run, as in `normbench train`: a value, several, or a range as text.  zip:
    axes that advance together, such as [("lr", "batch_size")].
    db: a path or an SQLAlchemy URL; None means NORMBENCH_DB or the database in the home folder.
    allow: packages that experiment and recipe files may load components from.
    executor: "local", "ray" or "submitit": workers run the cells, see docs/beyond-one-machine.md; jobs, per_run
    ("cpus=2,gpus=0.5") and address as in `normbench train`.
    on_event: called with every event, see `normbench_cli.experiments.events`.

    >>> results = nb.train(norm=["batchnorm", "augnorm:phi=1.5"], lr="log:0.01..1/5", seeds=range(3), epochs=5)
    >>> results[0].metrics["test/accuracy"]
    """
    axes = {"norm": norm, "act": act, "model": model, "data": data, "objective": objective, "seeds": seeds}
    given = {name: value for name, value in {**axes, **settings}.items() if value is not None}
    choice = choose(executor, jobs, per_run, address)
    asked = make_experiment(given, zip)
    if experiment is not None:
        asked = read_experiment(experiment, allow).overridden(asked)
    configs = asked.configs(allow)
    check_executor((config.nproc for config in configs), executor)
    cells = plan_grid(configs, db, rerun=rerun)
    with checked(cells, choice) as opened:
        due = any(cell.due for cell in cells)
        trained = iter(run_grid(cells, db, on_event, choice, opened) if due else ())
    if all(cell.due for cell in cells):
        return list(trained)
    with Store.open(db, write=False) as store:
        return [
            next(trained) if cell.due else recorded_result(cell.run_id, store, packages_of(cell.config))
            for cell in cells
        ]


@contextmanager
def checked(cells: Sequence[Cell], choice: Choice | None) -> Iterator[Executor | None]:
    """Check the cells that are due.  Yields the local executor, if it is chosen; its processes start meanwhile.

    Other executors, which may wait for a cluster, are opened when the cells run.
    """
    works = works_of(cells)
    with open_executor(choice, works) if works and choice and choice.executor == "local" else nullcontext() as executor:
        check_cells(work.config for work in works)
        yield executor


def works_of(cells: Sequence[Cell]) -> list[CellWork]:
    return [CellWork(cell, reserves=len(cells) > 1) for cell in cells if cell.due]


def run_grid(
    cells: Sequence[Cell],
    db: str | None = None,
    on_event: Callback = ignore,
    choice: Choice | None = None,
    executor: Executor | None = None,
) -> list[RunResult]:
    """Train the cells that are due and return their results.

    In a grid, a cell that fails is a result and the others are still trained, and a cell that another process has
    reserved is left to it; a single run is always trained, and its error is raised.  choice: the executor; None trains
    the cells sequentially in this process.  executor: one that is already open, see `checked`.
    """
    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    with Store.open(db) as store:
        if choice is not None:
            then = f"{RESUMABLE}; {THEN}"
            return run_works(works_of(cells), choice, store, on_event, executor=executor, then=then)
        if len(cells) == 1:
            return [with_loss(train_alone(cells[0], store, on_event), store)]
        results = {cell.fingerprint: result for cell, result in train_cells(cells, store, on_event)}
        return [with_loss(results[cell.fingerprint], store) for cell in cells if cell.due]


def train_alone(cell: Cell, store: Store, on_event: Callback) -> RunResult:
    on_event(RunStarted(cell.config))
    result = train_cell(cell.config, store, on_event)
    on_event(RunEnded(result))
    return result


def train_cells(cells: Sequence[Cell], store: Store, on_event: Callback) -> Iterator[tuple[Cell, RunResult]]:
    """Yield the cells that are due with their results, in the order in which they end."""
    shared = Shared((cell for cell in cells if cell.due), store, on_event)
    for cell, other in shared:
        if other is not None:
            result = replace(recorded_result(other.id, store, packages_of(cell.config)), elsewhere=True)
        else:
            on_event(RunStarted(cell.config))
            try:
                result = train_one(cell, store, on_event)
            except Taken as taken:
                shared.put_back(cell, taken.fingerprint)
                continue
        on_event(RunEnded(result))
        yield cell, result


def train_one(cell: Cell, store: Store, on_event: Callback) -> RunResult:
    """Train a cell of a grid.  An error must not stop the other cells."""
    try:
        return train_cell(cell.config, store, on_event, known_run(cell))
    except Taken:
        raise
    except KeyboardInterrupt as stopped:
        raise Interrupted(f"{stopped or 'interrupted'}; {THEN}") from None
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return RunResult("", "failed", cell.config, {}, message, fingerprint=cell.fingerprint)


def train_cell(config: RunConfig, store: Store, on_event: Callback, instead_of: str | None = None) -> RunResult:
    """Resolve a configuration, warn of settings that are probably not intended, and train it on the current data.

    instead_of: reserve the cell, see `Store.begin`.
    """
    read_contents(config.data)
    resolved = build.resolve(config, on_event)
    for warning in build.config_warnings(resolved):
        on_event(Notice(warning))
    return train_run(resolved, store, on_event, instead_of)


@dataclass(frozen=True)
class CellWork:
    """A cell to be trained by a worker.  reserves: reserve it as a cell of a grid, see `Store.begin`.  begun: the run
    that an earlier worker began."""

    cell: Cell
    reserves: bool = True
    begun: str = ""

    @property
    def config(self) -> RunConfig:
        return self.cell.config

    @property
    def fingerprint(self) -> str:
        return self.cell.fingerprint

    @property
    def run_id(self) -> str:
        return self.cell.run_id

    @property
    def status(self) -> str:
        return self.cell.status

    def run(self, store: Store, on_event: Callback) -> RunResult:
        known = known_run(self) if self.reserves else None
        if self.begun:
            if store.find(self.begun).status in WITH_RESULT:
                return self.made(self.begun, store)
            return resume_run(self.begun, store, on_event, packages_of(self.config), instead_of=known)
        if self.reserves:
            check_free(self, store)
        return train_cell(self.config, store, on_event, known)

    def again(self, run_id: str, status: str, store: Store) -> CellWork:
        return replace(self, begun=run_id)

    def made(self, run_id: str, store: Store) -> RunResult:
        return recorded_result(run_id, store, packages_of(self.config))
