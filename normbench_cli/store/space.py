"""Returning the space of removed rows to the file system."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from normbench_cli.disk import free_bytes
from normbench_cli.store.file_errors import SQLITE_ERRORS
from normbench_cli.store.sqlite_file import connect, log_of
from normbench_cli.store.store import Store

LEAST = 2**20  # unused bytes that are worth rewriting the file for, if at least this share of it
SHARE = 0.1
LOCK_TIMEOUT = 2.0  # seconds; other programs have precedence


def give_back(store: Store) -> tuple[int, str]:
    """Shrink an SQLite file if enough of it is unused; returns the bytes freed, and the reason if it could not shrink.

    Later rows fill unused space, so nothing is lost if the file cannot shrink now.
    """
    path = store.location.path
    if path is None:
        return 0, "its server looks after its files"
    before = size_of(path)
    try:
        with closing(connect(path, timeout=LOCK_TIMEOUT)) as connection:
            unused = pages(connection, "freelist_count")
            if unused < max(LEAST, SHARE * before):
                return 0, ""
            needed = 2 * before  # the log holds the whole file once more before it is copied back
            if free_bytes(path) < needed:
                return 0, f"later rows fill the {unused:,} unused bytes: to give them back takes {needed:,} free ones"
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except SQLITE_ERRORS as error:
        return 0, f"later rows fill the unused space: it cannot be given back now ({error})"
    return before - size_of(path), ""


def pages(connection: sqlite3.Connection, count: str) -> int:
    """The size in bytes of the pages counted by an SQLite pragma."""
    (number,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in (count, "page_size"))
    return int(number) * int(size)


def size_of(path: Path) -> int:
    """The size in bytes of a database and its log."""
    return sum(file.stat().st_size for file in (path, log_of(path)) if file.exists())
