"""SQLAlchemy engines for a location, and what the database's own errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.exc import IntegrityError, NoSuchModuleError

from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import CHOOSE_ANOTHER, RefusedRow
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_full, unusable
from normbench_cli.store.location import Location
from normbench_cli.store.schema import VERSION_TABLE, Base
from normbench_cli.store.sqlite_file import connect, file_version
from normbench_cli.store.values import read_json
from normbench_cli.store.versions import single_version

Synchronous = Literal["OFF", "NORMAL", "FULL"]
# With a write-ahead log a power cut may cost the last rows, never the database.  The test suite sets this to OFF.
SYNCHRONOUS: Synchronous = "NORMAL"


def make_engine(location: Location, query: str, synchronous: Synchronous | None = None) -> Engine:
    """query: SQLite's URI query (``mode=rw``); synchronous: when SQLite waits for the disk (default: SYNCHRONOUS)."""
    path = location.path
    if path is None:
        return server_engine(location)
    pragmas = ("foreign_keys = ON", f"synchronous = {synchronous or SYNCHRONOUS}")

    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    # A connection lasts one transaction, so that none is in use when a process forks data loaders or is killed.
    engine = create_engine(
        "sqlite://",
        poolclass=NullPool,
        creator=lambda: connect(path, query, location.timeout),
        json_deserializer=read_json,
    )
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def server_engine(location: Location) -> Engine:
    assert location.url is not None
    try:
        return create_engine(location.url, pool_pre_ping=True)
    except NoSuchModuleError as error:
        do = "see SQLAlchemy's list of dialects"
        raise DatabaseError(f"{location.shown}: there is no such kind of database", do) from error
    except ImportError as error:
        do = f"pip install {error.name}"
        raise DatabaseError(f"{location.shown} needs the package {error.name}", do) from error


def begin(connection: Connection) -> None:
    """Let a writer take the lock at once: SQLite refuses a reader that turns writer, without waiting."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def version_of(location: Location) -> str | None:
    """The schema version of a database; None if it has no tables yet."""
    if location.path is not None:
        return file_version(location.path)
    engine = server_engine(location)
    try:
        with translate_errors(location), engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
            if VERSION_TABLE in tables:
                rows = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars()
                return single_version(list(rows), location.shown)
    finally:
        engine.dispose()
    if taken := sorted(tables & set(Base.metadata.tables)):
        raise DatabaseError(
            f"the database {location.shown} has another program's table '{taken[0]}'",
            "give normbench a database of its own",
        )
    return None


@contextmanager
def translate_errors(location: Location) -> Iterator[None]:
    """Raise SQLAlchemy's and SQLite's errors as one-line `DatabaseError`s."""
    try:
        yield
    except (SqlError, *SQLITE_ERRORS) as error:
        kind = RefusedRow if isinstance(error, IntegrityError) else DatabaseError
        raise kind(*error_message(location, error)) from error


def error_message(location: Location, error: SqlError | sqlite3.Error | UnicodeDecodeError) -> tuple[str, str]:
    """What happened, and what to do about it."""
    orig = error.orig if isinstance(error, SqlError) else error
    cause = " ".join(str(orig).split())
    name = f"the database {location.shown}"
    if isinstance(error, IntegrityError):
        return f"{name} refused a row: {cause}", "its run may have been removed meanwhile; see `normbench runs list`"
    if "locked" in cause:
        return f"{name} is being written by another program", "try again when that has ended"
    if ("readonly" in cause or "read-only" in cause) and not (location.path and is_full(orig, location.path)):
        return f"{name} is read-only", f"make it writable, or {CHOOSE_ANOTHER}"
    if location.path is None:
        return f"{name} cannot be used: {cause}", "check the URL, and that its server is running"
    return unusable(name, location.path, orig)
