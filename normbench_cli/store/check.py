"""Is the database sound?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from normbench_cli.store.location import connect
from normbench_cli.store.processes import is_gone
from normbench_cli.store.rows import now
from normbench_cli.store.schema import HEAD, Base, Run
from normbench_cli.store.store import Store


@dataclass
class Health:
    """What was found: faults of the file, and running runs whose process is gone."""

    version: str = HEAD
    problems: list[str] = field(default_factory=list)
    zombies: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def check(store: Store) -> Health:
    """Look at everything; changes nothing if the store was opened without ``sweep``."""
    health = Health()
    if store.location.path is not None:
        health.problems = damage(store.location.path, store.location.reading)
    if health.problems:
        return health  # counts of a damaged file mean nothing
    moment = now()
    with store.reading() as session:
        running = session.scalars(select(Run).where(Run.status == "running"))
        health.zombies = [run.id for run in running if is_gone(run, moment)]
        for name, table in Base.metadata.tables.items():
            health.rows[name] = session.scalar(select(func.count()).select_from(table)) or 0
    return health


def damage(path: Path, query: str) -> list[str]:
    """What SQLite finds wrong with the file, and rows that point nowhere."""
    try:
        with closing(connect(path, query)) as connection:
            found = [text for (text,) in connection.execute("PRAGMA quick_check(20)") if text != "ok"]
            lost = found or connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:  # so damaged that it cannot even be looked at
        return [str(error)]
    return found or [f"row {row} of {table} points to a row of {to} that is not there" for table, row, to, _ in lost]
