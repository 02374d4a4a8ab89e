"""A database of a newer normbench: every command refuses it in one line, and leaves it as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from normbench_cli.store.schema import HEAD, VERSION_TABLE
from tests.support import TINY, RunCommand

COMMANDS = [
    *(["runs", "list"], ["runs", "show", "RUN"], ["runs", "rm", "RUN", "--yes"], ["report"], ["report", "--json"]),
    *(["runs", "diff", "RUN", "RUN"], ["runs", "tag", "RUN", "x"], ["runs", "note", "RUN", ""]),
    *(["compare", "RUN", "RUN"], ["db", "check"], ["db", "upgrade"], ["db", "backup"], ["eval", "RUN"]),
    *(
        ["train", *TINY],
        ["train", "--resume", "RUN"],
        ["profile", "--only", "layers", "--shape", "4x2", "--rounds", "5"],
    ),
]


@pytest.fixture
def newer(enter: Callable[..., str], home: Path) -> str:
    """The id of a run in a database whose schema is newer, with a column and a table that nobody knows yet."""
    run = enter(0.5)
    with closing(sqlite3.connect(home / "normbench.db")) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.execute("ALTER TABLE runs ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
        connection.execute("CREATE TABLE laters (id INTEGER PRIMARY KEY)")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return run


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_older_program_refuses_politely(normbench: RunCommand, newer: str, home: Path, words: list[str]) -> None:
    path = home / "normbench.db"
    content = path.read_bytes()
    ended = normbench(*[newer if word == "RUN" else word for word in words])
    assert ended.code == 1
    assert ended.out == ""
    assert ended.err == (
        f"normbench: the database {path} belongs to a newer normbench (schema 9999, this one knows {HEAD}); "
        "upgrade normbench\n"
    )
    assert path.read_bytes() == content
    assert {item.name for item in home.iterdir()} <= {
        "normbench.db",
        "normbench.db-wal",
        "normbench.db-shm",
        "compiled",
    }
    assert not list(home.glob("*backup*"))
