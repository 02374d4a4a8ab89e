"""The cells of a grid and their recorded runs: what is known before anything is launched.

torch is loaded only to check cells that are to be trained, or to examine the user's own data, so a wrong setting or a
finished grid is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from normbench_cli import paths, store
from normbench_cli.config import RunConfig
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.registry.source_digest import reload_changed
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.status import WITH_RESULT


@dataclass(frozen=True)
class Cell:
    """One configuration of a grid, and its recorded run.

    status: of its newest run with a result, otherwise of its newest run; "new" if there is none.  run_id: of that run.
    due: whether the cell is to be trained.
    """

    config: RunConfig
    fingerprint: str
    status: str = "new"
    run_id: str = ""
    due: bool = True


def plan_grid(configs: Iterable[RunConfig], db: str | None = None, *, rerun: bool = False) -> list[Cell]:
    """Return the cells of a grid with their recorded runs, without duplicates.  Writes nothing.

    A cell with a result is not due, unless `rerun`; a single run is always due.
    """
    unique = by_fingerprint(configs)
    always = rerun or len(unique) == 1
    recorded = {} if len(unique) == 1 else newest_runs(unique, db)
    cells = []
    for fingerprint, config in unique.items():
        run_id, status = recorded.get(fingerprint, ("", "new"))
        cells.append(Cell(config, fingerprint, status, run_id, due=always or status not in WITH_RESULT))
    return cells


def by_fingerprint(configs: Iterable[RunConfig]) -> dict[str, RunConfig]:
    """The configurations by fingerprint, as they would be trained now, without duplicates."""
    reload_changed()
    listed = list(configs)
    return dict(zip(fingerprints(listed), listed, strict=True))


def newest_runs(fingerprints: Iterable[str], db: str | None) -> dict[str, tuple[str, str]]:
    """Fingerprint -> id and status of the recorded run; empty if there is no database yet."""
    try:
        with store.Store.open(db, write=False) as opened:
            return opened.newest_runs(fingerprints)
    except NoDatabase:
        return {}


def check_cells(configs: Iterable[RunConfig]) -> None:
    """Raise an error for the first configuration that cannot work, before anything is recorded."""
    if configs := list(configs):
        from normbench_cli.build import check

        paths.set_compile_cache()
        for config in configs:
            check(config)
