"""Export of the tables for other programs: parquet or csv files with a manifest, or everything as one SQLite file.

Each table row becomes one row; JSON stays text, times are in UTC, and raw series are unpacked to one row per step.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from normbench_cli.disk import UNFINISHED, disk_full, full_disk_in, write_text
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.export_database import NAME as DATABASE
from normbench_cli.store.export_database import export_database
from normbench_cli.store.filter import Filter
from normbench_cli.store.queries import runs_frame, series, series_names, sound_ids
from normbench_cli.store.reading import ROWS_AT_ONCE, RUNS, fetch, fetch_each, has_row_numbers, row_number, row_numbers
from normbench_cli.store.rows import Row, now
from normbench_cli.store.schema import HEAD, Base
from normbench_cli.store.store import Store
from normbench_cli.store.table_files import FORMATS, Columns
from normbench_cli.store.values import kind_of
from normbench_cli.version import __version__

MANIFEST = "manifest.json"
SQLITE = "sqlite"  # the format that `db merge` reads
SERIES_COLUMNS: Columns = {"run_id": str, "name": str, "step": int, "value": float}
KEYS = {"runs": "id", "metrics": "run_id"}  # run id columns of the tables that --where filters
TABLES = Base.metadata.tables


def parse_format(text: str) -> str:
    if text not in (*FORMATS, SQLITE):
        raise UsageError(f"--format {text} is not a format", suggest(text, [*FORMATS, SQLITE]))
    if text == "parquet" and find_spec("pyarrow") is None:
        raise UsageError("--format parquet needs the package pyarrow", 'pip install "normbench[parquet]"')
    return text


def export(store: Store, folder: Path, form: str, *, series: bool = False, where: Filter | None = None) -> Row:
    """Write all tables to a new folder, or with ``where`` only the rows of these runs; returns the manifest.

    Damaged rows are left out and named by `Store.damage`.  The folder is complete or does not exist.
    """
    run_ids = runs_frame(store, where=where)["id"].tolist() if where else None
    unfinished = Path(f"{folder}{UNFINISHED}")
    try:
        if folder.exists():
            raise NormbenchError(f"{folder} exists", "give the name of a new folder")
        unfinished.mkdir(parents=True)
        if form == SQLITE:  # it needs no manifest
            count = export_database(store, unfinished, run_ids, series=series)
            manifest: Row = {"format": form, "runs": count, "files": {DATABASE: {"rows": count}}}
        else:
            manifest = write_tables(store, unfinished, form, run_ids, series=series)
            write_text(unfinished / MANIFEST, json.dumps(manifest, indent=2))
        unfinished.rename(folder)
    except FileExistsError as error:
        raise NormbenchError(f"{unfinished} exists", "remove what an earlier export has left there") from error
    except NormbenchError:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    except BaseException as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        if (full := full_disk_in(error)) is not None:
            raise disk_full(folder, full) from error
        if isinstance(error, OSError):
            raise NormbenchError(f"{folder} cannot be written: {error.strerror}", "name another folder") from error
        raise
    return manifest


def write_tables(store: Store, folder: Path, form: str, run_ids: list[str] | None, *, series: bool) -> Row:
    names = [name for name in TABLES if name != "samples" and (run_ids is None or name in (*KEYS, "environments"))]
    files: dict[str, Row] = {}
    with store.reading() as session:
        for name in names:
            rows = table_rows(store, session, TABLES[name], run_ids)
            files[f"{name}.{form}"] = write_file(folder / f"{name}.{form}", form, columns_of(TABLES[name]), rows)
        of_runs = sound_ids(session) if run_ids is None else run_ids
    if series:
        rows = series_rows(store, of_runs)
        files[f"series.{form}"] = write_file(folder / f"series.{form}", form, SERIES_COLUMNS, rows)
    made = {"program": f"normbench {__version__}", "schema": HEAD, "database": store.location.shown}
    return {**made, "exported_at": now().isoformat(timespec="seconds"), "format": form, "files": files}


def write_file(path: Path, form: str, columns: Columns, rows: Iterator[tuple[Any, ...]]) -> Row:
    """Write a file; returns its entry in the manifest."""
    count = FORMATS[form](path, columns, rows)
    return {"rows": count, "columns": {name: kind.__name__ for name, kind in columns.items()}}


def columns_of(table: Table) -> Columns:
    """Column names, as in messages and --where, and Python types."""
    names = {"state": "status"}
    return {names.get(column.name, column.name): kind_of(column) for column in table.columns}


def table_rows(store: Store, session: Session, table: Table, run_ids: list[str] | None) -> Iterator[tuple[Any, ...]]:
    """The undamaged rows of a table."""
    query = select(*table.columns).order_by(table.columns["id"])
    if run_ids is not None and table.name in KEYS:
        key = table.columns[KEYS[table.name]]
        parts = (query.where(key == run_id) for run_id in run_ids)
        yield from chain.from_iterable(sound_rows(store, session, part, table) for part in parts)
        return
    if not has_row_numbers(session):
        yield from map(tuple, fetch(session, query))
        return
    if table is RUNS:
        yield from sound_rows(store, session, query, table)
        return
    numbers = row_numbers(session, table)  # in batches, so that only a batch with damage is read row by row
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        some = numbers[start : start + ROWS_AT_ONCE]
        part = query.where(row_number(table).between(some[0], some[-1]))
        yield from sound_rows(store, session, part, table)


def sound_rows(store: Store, session: Session, query: Any, table: Table) -> list[tuple[Any, ...]]:
    try:
        return [tuple(row) for row in fetch(session, query)]
    except DamagedValue:
        rows, problems = fetch_each(session, query, table)
        store.left_out |= problems
        return [tuple(row) for row in rows]


def series_rows(store: Store, run_ids: list[str]) -> Iterator[tuple[Any, ...]]:
    for run_id in run_ids:
        try:
            for name in series_names(store, run_id):
                values = series(store, run_id, name)
                steps, numbers = values.index.tolist(), values.astype("float64").tolist()
                yield from ((run_id, name, step, value) for step, value in zip(steps, numbers, strict=True))
        except DamagedValue as error:
            store.left_out[f"the series of run {run_id}"] = str(error)
