"""Removing runs: their rows in the database, and their folders with checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from normbench_cli import paths
from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.schema import Run


def deletable_runs(texts: Iterable[str], store: Store, *, force: bool = False) -> dict[str, Run | None]:
    """Return the runs with these ids (or id prefixes), by id; None for a damaged one.

    An unknown run is an error; so is a running or damaged one, unless forced.  All runs are checked before the first is
    removed, so that a wrong id removes nothing.
    """
    runs: dict[str, Run | None] = {}
    for run_id in map(store.find_id, texts):
        try:
            run = runs[run_id] = store.find(run_id)
        except DamagedValue:
            if not force:
                raise
            runs[run_id] = None
        else:
            if run.status == "running" and not force:
                raise NormbenchError(f"run {run_id} is running", "wait for its end, or remove it with --force")
    return runs


def delete_runs(run_ids: Sequence[str], store: Store) -> None:
    """Remove runs: first their rows, then their folders."""
    store.delete(run_ids)
    for run_id in run_ids:
        try:
            shutil.rmtree(paths.run_folder(run_id))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise NormbenchError(
                f"the rows of {run_id} are gone, its folder is not: {error.strerror}",
                f"remove {error.filename} by hand",
            ) from error


def folder_bytes(run_id: str) -> int:
    """The size of a run's folder on disk."""
    return sum(file.stat().st_size for file in paths.run_folder(run_id).rglob("*") if file.is_file())
