"""A grid of runs: its cells, what is recorded of each, and the training of those that have no result yet.

torch is loaded when a cell is to be trained, so a wrong setting or a finished grid is told at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from normbench_cli import paths
from normbench_cli.config import RunConfig, make_config
from normbench_cli.registry.spec import split_list
from normbench_cli.runs.events import Callback, Notice, RunEnded, RunStarted, ignore
from normbench_cli.runs.result import RunResult
from normbench_cli.store.errors import NoDatabase

if TYPE_CHECKING:
    from normbench_cli.store import Store

AXES = ("norm", "act", "model", "data", "objective")  # and the seeds


@dataclass(frozen=True)
class Cell:
    """One configuration of a grid, and the run that is recorded of it.

    status: of that run, or "new".  due: whether the cell is to be trained.
    """

    config: RunConfig
    fingerprint: str
    run_id: str = ""
    status: str = "new"
    due: bool = True


def expand(
    settings: Mapping[str, Any], axes: Mapping[str, Iterable[str] | None], seeds: Iterable[int] = ()
) -> list[RunConfig]:
    """Every combination of the axes' values, each of which may be a list with commas, over the common settings."""
    named: dict[str, list[Any]] = {
        name: [spec for text in texts for spec in split_list(text)] for name, texts in axes.items() if texts
    }
    if seeds := list(seeds):
        named["seed"] = seeds
    return [
        make_config({**settings, **dict(zip(named, combination, strict=True))})
        for combination in product(*named.values())
    ]


def plan_grid(configs: Iterable[RunConfig], db: str | None = None, *, rerun: bool = False) -> list[Cell]:
    """The cells of a grid, equal ones once, with what is recorded of each; nothing is written.

    The cells that have a result are not due, unless they are to be trained again; a single run is always due.  What
    cannot work is an error here, before anything is recorded.
    """
    unique = by_fingerprint(configs)
    always = rerun or len(unique) == 1
    recorded = {} if always else newest_results(unique, db)
    cells = [
        Cell(config, fingerprint, recorded[fingerprint], "finished", due=False)
        if fingerprint in recorded
        else Cell(config, fingerprint)
        for fingerprint, config in unique.items()
    ]
    check_cells(cell.config for cell in cells if cell.due)
    return cells


def by_fingerprint(configs: Iterable[RunConfig]) -> dict[str, RunConfig]:
    """The configurations, equal ones once."""
    return {fingerprint_of(config): config for config in configs}


def fingerprint_of(config: RunConfig) -> str:
    """A configuration's fingerprint once it is resolved; only an open precision needs a look at the device."""
    if config.amp != "auto":
        return config.fingerprint()
    from normbench_cli.build import resolved_fingerprint

    return resolved_fingerprint(config)


def newest_results(fingerprints: Iterable[str], db: str | None) -> dict[str, str]:
    """Fingerprint -> id of its newest run with a result."""
    from normbench_cli.store import Store

    try:
        with Store.open(db, write=False) as store:
            return store.newest_results(fingerprints)
    except NoDatabase:
        return {}


def check_cells(configs: Iterable[RunConfig]) -> None:
    """Find out what cannot work before anything is recorded."""
    if configs := list(configs):
        from normbench_cli.build import check

        paths.set_compile_cache()
        for config in configs:
            check(config)


def run_grid(cells: Sequence[Cell], db: str | None = None, on_event: Callback = ignore) -> list[RunResult]:
    """Train the cells that are due, and give their results.

    In a grid a cell that fails is a result, and the others are still trained; of a single run the error is raised.
    """
    from normbench_cli.store import Store

    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    with Store.open(db) as store:
        return list(train_cells(cells, store, on_event))


def train_cells(cells: Sequence[Cell], store: Store, on_event: Callback) -> Iterator[RunResult]:
    """The results of the cells that are due, one after the other."""
    for cell in cells:
        if not cell.due:
            continue
        on_event(RunStarted(cell.config))
        try:
            result = train_cell(cell.config, store, on_event)
        except Exception as error:
            if len(cells) == 1:
                raise
            # any fault of one cell must not cost the others; its message is on its row, its traceback in --debug
            result = RunResult("", "failed", cell.config, {}, f"{type(error).__name__}: {error}")
        on_event(RunEnded(result))
        yield result


def train_cell(config: RunConfig, store: Store, on_event: Callback) -> RunResult:
    """Resolve a configuration, warn of what is probably not meant, and train it."""
    from normbench_cli import build
    from normbench_cli.runs.train import train_run

    resolved = build.resolve(config, on_event)
    for warning in build.config_warnings(resolved):
        on_event(Notice(warning))
    return train_run(resolved, store, on_event)
