"""Copying the readable rows of a file with damaged pages into a new database, one by one."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.file_errors import SQLITE_ERRORS
from normbench_cli.store.location import parse_location
from normbench_cli.store.reading import row_numbers
from normbench_cli.store.schema import Base
from normbench_cli.store.sqlite_file import connect, log_of
from normbench_cli.store.store import Store
from normbench_cli.store.upgrade import upgrade


def salvage(store: Store, target: Path) -> tuple[list[str], Counter[str]]:
    """Copy the readable rows, unchanged, into a new database.

    Returns sentences about what cannot be read, and how many measurements each run has lost, as far as the indexes
    show.  Rows may still refer to lost ones, and values may be damaged: `repair_rows` comes next.
    """
    upgrade(parse_location(str(target)))
    lost: list[str] = []
    touched: Counter[str] = Counter()
    with store.reading() as session, closing(connect(target)) as new:
        old: Any = session.connection().connection.dbapi_connection
        old.text_factory = text_or_bytes
        new.execute("PRAGMA foreign_keys = OFF")
        new.execute("BEGIN IMMEDIATE")
        for table in Base.metadata.sorted_tables:
            owners = owners_in_index(old, table)
            try:
                numbers = {*row_numbers(session, table), *owners}
            except DamagedValue as error:
                lost.append(str(error))
                numbers = {*owners}
            if missing := copy_rows(old, new, table, sorted(numbers)):
                lost.append(f"{len(missing)} rows of {table.name} cannot be read")
                touched.update(owners[number] for number in missing if number in owners)
        new.execute("COMMIT")
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return lost, touched


def copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: Table, numbers: list[int]) -> set[int]:
    """Copy a table; returns the numbers of the rows that cannot be read or do not fit it."""
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    places = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {table.name} ({names}) VALUES ({places})"
    missing: set[int] = set()
    for number in numbers:
        try:
            (row,) = old.execute(f"SELECT {names} FROM {table.name} NOT INDEXED WHERE rowid = {number}").fetchall()
            new.execute(insert, row)
        except (*SQLITE_ERRORS, ValueError):
            missing.add(number)
    return missing


def owners_in_index(old: sqlite3.Connection, table: Table) -> dict[int, str]:
    """Row number -> run, from an index of the table, up to the first damage."""
    found: dict[int, str] = {}
    if table.name in ("metrics", "samples"):
        with suppress(*SQLITE_ERRORS):
            for number, run_id in old.execute(f"SELECT rowid, run_id FROM {table.name} ORDER BY run_id"):
                found[number] = str(run_id)
    return found


def text_or_bytes(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def files_of(path: Path) -> Iterator[Path]:
    """A database file and the files that SQLite keeps beside it."""
    beside = (log_of(path), path.with_name(path.name + "-shm"))
    yield from (file for file in (path, *beside) if file.exists())


def put_in_place(new: Path, path: Path, aside: Path) -> None:
    """Keep a damaged database and its log under another name, and put a new one in its place.

    There is a database at every moment: without one, the next command would start an empty one.
    """
    try:
        os.link(path, aside)
    except OSError:  # this file system has no hard links
        shutil.copyfile(path, aside)
    for file in files_of(path):
        if file != path:
            file.rename(aside.with_name(aside.name + file.name.removeprefix(path.name)))
    new.replace(path)
