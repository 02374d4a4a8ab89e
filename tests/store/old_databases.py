"""Databases of the first schema for tests of upgrades: the committed one, many rows, and what must stay of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.store.make_old_database import OLD

FIRST = "0001"
TABLES = ("environments", "runs", "metrics", "samples")
Contents = dict[str, list[tuple[Any, ...]]]


def make_first(path: Path, metrics: int = 0) -> Path:
    """A database of the first schema in the mode that normbench sets, with so many more metrics."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript((OLD / f"{FIRST}.sql").read_text(encoding="utf-8"))
        one = (
            "INSERT INTO metrics SELECT NULL, run_id, ?, ?, split, condition, name, ?, unit, recorded_at FROM metrics "
        )
        values = [(number, number, number / 7) for number in range(metrics)]
        connection.executemany(one + "WHERE id = 1", values)
        connection.commit()
    return path


def old_columns(path: Path) -> dict[str, list[str]]:
    """The columns of each table of the first schema."""
    with closing(sqlite3.connect(path)) as connection:
        return {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in TABLES}


def contents(path: Path, columns: dict[str, list[str]]) -> Contents:
    """All values of these columns with their storage types, text as bytes."""
    found: Contents = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for table, names in columns.items():
            shown = ", ".join(f'"{name}", typeof("{name}")' for name in names)
            found[table] = connection.execute(f"SELECT {shown} FROM {table} ORDER BY rowid").fetchall()
    return found


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        ((found,),) = connection.execute("SELECT version_num FROM normbench_schema_version").fetchall()
    return str(found)


def backups(path: Path) -> list[Path]:
    """The backups that an upgrade has left beside a database."""
    return sorted(path.parent.glob(f"{path.stem}.backup-{FIRST}-*{path.suffix}"))
