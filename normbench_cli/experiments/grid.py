"""Training a grid of runs: the cells that are due, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from normbench_cli import build, paths
from normbench_cli.axes.experiment import make_experiment
from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.config import RunConfig
from normbench_cli.datasets._files.look import look
from normbench_cli.experiments.events import Callback, Notice, RunEnded, RunStarted, ignore
from normbench_cli.experiments.lifecycle import with_loss
from normbench_cli.experiments.plan import Cell, plan_grid
from normbench_cli.experiments.recorded import packages_of, recorded_result
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.train import train_run
from normbench_cli.interrupts import Interrupted
from normbench_cli.store import Store


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
    on_event: Callback = ignore,
    **settings: Any,
) -> list[RunResult]:
    """Train one run, or a grid of runs where several values are given, and record them.

    A cell of a grid that already has a result is not trained again, unless `rerun`; its recorded result is returned.
    In a grid a run that fails is a result with the status "failed"; the error of a single run is raised.

    experiment: an experiment file, whose settings the others override.  seeds: a number, numbers, or text such as
    "0-9".  settings: any other setting of a run, as in `normbench train`: a value, several, or a range as text.  zip:
    axes that advance together, such as [("lr", "batch_size")].
    db: a path or an SQLAlchemy URL; None means NORMBENCH_DB or the database in the home folder.
    allow: packages that files of experiments and recipes may load components from.
    on_event: called with everything that happens, see `normbench_cli.experiments.events`.

    >>> results = nb.train(norm=["batchnorm", "augnorm:phi=1.5"], lr="log:0.01..1/5", seeds=range(3), epochs=5)
    >>> results[0].metrics["test/accuracy"]
    """
    axes = {"norm": norm, "act": act, "model": model, "data": data, "objective": objective, "seeds": seeds}
    given = {name: value for name, value in {**axes, **settings}.items() if value is not None}
    asked = make_experiment(given, zip)
    if experiment is not None:
        asked = read_experiment(experiment, allow).overridden(asked)
    cells = plan_grid(asked.configs(allow), db, rerun=rerun)
    trained = iter(run_grid(cells, db, on_event) if any(cell.due for cell in cells) else ())
    if all(cell.due for cell in cells):
        return list(trained)
    with Store.open(db, write=False) as store:
        return [
            next(trained) if cell.due else recorded_result(cell.run_id, store, packages_of(cell.config))
            for cell in cells
        ]


def run_grid(cells: Sequence[Cell], db: str | None = None, on_event: Callback = ignore) -> list[RunResult]:
    """Train the cells that are due and give their results.

    In a grid, a cell that fails is a result and the others are still trained; the error of a single run is raised.
    """
    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    with Store.open(db) as store:
        results = list(train_cells(cells, store, on_event))
        return [with_loss(result, store) for result in results]


def train_cells(cells: Sequence[Cell], store: Store, on_event: Callback) -> Iterator[RunResult]:
    """The results of the cells that are due, one after the other."""
    for cell in cells:
        if not cell.due:
            continue
        on_event(RunStarted(cell.config))
        try:
            result = train_cell(cell.config, store, on_event)
        except KeyboardInterrupt as stopped:
            if len(cells) == 1:
                raise
            raise Interrupted(f"{stopped or 'interrupted'}; the same command trains the cells that are left") from None
        except Exception as error:
            if len(cells) == 1:
                raise
            # whatever is wrong with one cell must not cost the others
            result = RunResult(
                "", "failed", cell.config, {}, f"{type(error).__name__}: {error}", fingerprint=cell.fingerprint
            )
        on_event(RunEnded(result))
        yield result


def train_cell(config: RunConfig, store: Store, on_event: Callback) -> RunResult:
    """Resolve a configuration, warn of settings that are probably not intended, and train it on the data of now."""
    look(config.data)
    resolved = build.resolve(config, on_event)
    for warning in build.config_warnings(resolved):
        on_event(Notice(warning))
    return train_run(resolved, store, on_event)
