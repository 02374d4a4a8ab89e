"""Whether the database is sound."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from normbench_cli.store.schema import HEAD, Base
from normbench_cli.store.sqlite_file import connect
from normbench_cli.store.store import Store


@dataclass
class Health:
    """problems: damage of the file; zombies: ids of running runs whose process is gone; rows: how many, by table."""

    version: str = HEAD
    problems: list[str] = field(default_factory=list)
    zombies: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def check_database(store: Store) -> Health:
    """Examine a database.  This changes nothing, given a store that was opened without ``sweep``."""
    health = Health()
    if store.location.path is not None:
        health.problems = file_problems(store.location.path, store.location.read_query)
    if health.problems:
        return health  # row counts of a damaged file mean nothing
    health.zombies = [run.id for run in store.dead_runs()]
    with store.reading() as session:
        for name, table in Base.metadata.tables.items():
            health.rows[name] = session.scalar(select(func.count()).select_from(table)) or 0
    return health


def file_problems(path: Path, query: str) -> list[str]:
    """What SQLite finds wrong with the file, and rows that refer to missing rows."""
    try:
        with closing(connect(path, query)) as connection:
            found = [text for (text,) in connection.execute("PRAGMA quick_check(20)") if text != "ok"]
            lost = found or connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:  # too damaged for the checks themselves
        return [str(error)]
    return found or [f"row {row} of {table} points to a row of {to} that is not there" for table, row, to, _ in lost]
