"""Checking the integrity of the database: its file, references between rows, and every value of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Table, func, select
from sqlalchemy.orm import Session

from normbench_cli.errors import DatabaseError
from normbench_cli.store._spool.spool import pending
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_damage, unusable
from normbench_cli.store.reading import (
    CHUNKS_AT_ONCE,
    ROWS_AT_ONCE,
    RUNS,
    AnyRow,
    fetch,
    fetch_each,
    has_row_numbers,
    row_name,
    row_number,
    row_numbers,
    row_problems,
)
from normbench_cli.store.rows import kept_count, unpack
from normbench_cli.store.run_folders import folders, orphans, without_checkpoint
from normbench_cli.store.schema import HEAD, Base, Run, SeriesChunk
from normbench_cli.store.sqlite_file import connect
from normbench_cli.store.stale import dead_nights
from normbench_cli.store.store import Store
from normbench_cli.store.values import shown

SERIES = SeriesChunk.metadata.tables[SeriesChunk.__tablename__]
HEX = set("0123456789abcdef")
MEND_FILE = "restore a backup, or keep what is readable with `normbench db check --repair`"
MEND_VALUES = (
    "the other runs can be used; restore a backup, or repair what can be repaired with `normbench db check --repair`"
)


@dataclass
class Health:
    """problems: damage to the file, or values that are invalid for their columns; do: what to do about them.

    dead_runs: ids of running runs whose process is gone; dead_nights: the same for nights; orphans: folders without a
    run; without_checkpoint: finished trainings whose checkpoint is not here; spools: files with records that are not in
    the database yet; rows: row counts by table.
    """

    version: str = HEAD
    problems: list[str] = field(default_factory=list)
    dead_runs: list[str] = field(default_factory=list)
    dead_nights: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    without_checkpoint: list[str] = field(default_factory=list)
    spools: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    do: str = ""


def check_database(store: Store, most_bytes: int | None = None) -> Health:
    """Check a database.  Read-only if the store was opened without ``sweep``.

    most_bytes: in a larger file only the runs are checked, which is quick.
    """
    health, path = Health(), store.location.path
    small = path is None or most_bytes is None or path.stat().st_size <= most_bytes
    if path is not None and small:
        query = store.location.read_query
        health.problems = integrity_problems(path, query)
        if not health.problems and (lost := lost_references(path, query)):
            health.problems, health.do = lost, MEND_VALUES
            return health
    if health.problems:
        health.do = MEND_FILE
        return health  # row counts of a damaged file mean nothing
    with store.reading() as session:
        for name, table in Base.metadata.tables.items():
            health.rows[name] = session.scalar(select(func.count()).select_from(table)) or 0
            if small or table is RUNS:
                health.problems += table_problems(session, table)
    if health.problems:
        health.do = MEND_VALUES
    look_beside(store, health)
    return health


def look_beside(store: Store, health: Health) -> None:
    """Find problems other than damage: processes that are gone, folders without a run, runs without a folder."""
    present = folders()  # before the runs are read
    health.dead_runs = [run.id for run in store.dead_runs()]
    health.dead_nights = [night.id for night in dead_nights(store)]
    with store.reading() as session:
        known, damaged = fetch_each(session, select(Run.id, Run.kind, Run.status, Run.config), RUNS)
    if not damaged:  # the folder of a damaged run is not an orphan
        health.orphans = orphans(present, (run.id for run in known), store.location)
    trained = [run for run in known if (run.kind, run.status) == ("train", "finished")]
    health.spools = [f"{spool.what} of run {spool.owner.run} in {spool.path}" for spool in pending(store.location)]
    health.without_checkpoint = without_checkpoint(run.id for run in trained if not run.config.get("folds"))


UNKNOWN_TABLES = """
SELECT m.name, f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f
WHERE m.type = 'table' AND f."table" NOT IN (SELECT name FROM sqlite_master WHERE type = 'table')
"""


def integrity_problems(path: Path, query: str) -> list[str]:
    """Problems with the pages of a file: those that SQLite finds, and references to missing tables, which result from a
    damaged table name that SQLite does not notice."""
    found = ask(path, query, "PRAGMA integrity_check(20)", lambda rows: [text for (text,) in rows if text != "ok"])
    sentence = "table {} refers to a table {}, which is not there"
    return found or ask(path, query, UNKNOWN_TABLES, lambda rows: [sentence.format(*row) for row in rows])


def lost_references(path: Path, query: str) -> list[str]:
    """References to missing rows."""
    sentence = "row {1} of {0} points to a row of {2} that is not there"
    return ask(path, query, "PRAGMA foreign_key_check", lambda rows: [sentence.format(*row) for row in rows])


def ask(path: Path, query: str, check: str, sentences: Callable[[Iterable[Any]], list[str]]) -> list[str]:
    """Run a check in SQL.  An error that does not mean damage to the file, such as a full disk, is raised."""
    try:
        with closing(connect(path, query)) as connection:
            return sentences(connection.execute(check))
    except SQLITE_ERRORS as error:  # too damaged for the checks themselves
        if not is_damage(error):
            raise DatabaseError(*unusable(f"the database {path}", path, error)) from error
        return [str(error)]


def table_problems(session: Session, table: Table) -> Iterator[str]:
    """A sentence for every damaged row of a table."""
    if not has_row_numbers(session):
        try:
            for row in fetch(session, select(table)):
                yield from (f"row {row.id} of {table.name}: {problem}" for problem in meaning_problems(table, row))
        except DamagedValue as error:
            yield f"{table.name}: {error}"
        return
    for number, problems in damaged_rows(session, table):
        yield f"{row_name(session, table, number)}: {'; '.join(problems)}"


def damaged_rows(session: Session, table: Table) -> Iterator[tuple[int, list[str]]]:
    """The number of every damaged row, and its problems; rows are read in bulk, and one by one if that fails."""
    number, at_once = row_number(table), CHUNKS_AT_ONCE if table is SERIES else ROWS_AT_ONCE
    numbers = row_numbers(session, table)
    for start in range(0, len(numbers), at_once):
        part = numbers[start : start + at_once]
        try:
            query = select(table, number.label("row_number")).where(number.between(part[0], part[-1]))
            rows = list(fetch(session, query, at_once))
        except DamagedValue:
            for one in part:
                yield from row_by_itself(session, table, one)
        else:
            for row in rows:
                if problems := list(meaning_problems(table, row)):
                    yield row.row_number, problems


def row_by_itself(session: Session, table: Table, number: int) -> Iterator[tuple[int, list[str]]]:
    try:
        (row,) = fetch(session, select(table).where(row_number(table) == number))
        problems = list(meaning_problems(table, row))
    except (DamagedValue, ValueError):
        problems = row_problems(session, table, number)
    if problems:
        yield number, problems


def meaning_problems(table: Table, row: AnyRow) -> Iterator[str]:
    """Problems with a row whose values have the right types."""
    if table is RUNS and (len(row.id) != 8 or set(row.id) - HEX):
        yield f"column id is {shown(row.id)}, not eight digits 0-9a-f"
    if table is SERIES:
        try:
            unpack(row.data, kept_count(row._mapping["count"], row.thinned))  # a row's `count` is a method
        except DamagedValue as error:
            yield f"column data of series {row.name}: {error}"
