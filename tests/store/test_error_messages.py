"""What each error of a database is called, and what is advised against it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import IntegrityError, OperationalError

from normbench_cli.store.connection import error_message
from normbench_cli.store.location import Location

FILE = Location("results.db", path=Path("/results.db"))
SERVER = Location("a server", url=make_url("postgresql://host/name"))


@pytest.mark.parametrize(
    ("location", "cause", "says", "advice"),
    [
        (FILE, "database is locked", "is being written by another program", "try again"),
        (FILE, "database table is locked: runs", "is being written by another program", "try again"),
        (FILE, "attempt to write a readonly database", "is read-only", "make it writable, or name another file"),
        (SERVER, "cannot execute in a read-only transaction", "is read-only", "make it writable"),
        (FILE, "database or disk is full", "could not be written: database or disk is full", "free space"),
        (FILE, "disk I/O\nerror", "cannot be used: disk I/O error", "check its disk, or name another file"),
        (FILE, "file is not a database", "cannot be read: file is not a database", "see `normbench db check`; restore"),
        (SERVER, "connection refused", "cannot be used: connection refused", "check the URL"),
    ],
    ids=str,
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_each_cause_has_its_message_and_advice(
    location: Location, cause: str, says: str, advice: str, wrapped: bool
) -> None:
    original = sqlite3.OperationalError(cause)
    message, do = error_message(location, OperationalError("SELECT 1", {}, original) if wrapped else original)
    assert message.startswith(f"the database {location.shown} {says}")
    assert do.startswith(advice)


def test_a_refused_row_points_to_the_list_of_runs() -> None:
    error = IntegrityError("INSERT", {}, sqlite3.IntegrityError("FOREIGN KEY constraint failed"))
    message, do = error_message(FILE, error)
    assert message == "the database results.db refused a row: FOREIGN KEY constraint failed"
    assert "runs list" in do
