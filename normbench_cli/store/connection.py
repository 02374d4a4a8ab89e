"""SQLAlchemy engines for a location, and translation of the database's own errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.exc import DataError, IntegrityError

from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import CHOOSE_ANOTHER, RefusedRow
from normbench_cli.store.file_errors import SQLITE_ERRORS, is_full, locked, unusable
from normbench_cli.store.location import Location
from normbench_cli.store.schema import VERSION_TABLE, Base
from normbench_cli.store.server import server_engine
from normbench_cli.store.sqlite_file import connect, file_version
from normbench_cli.store.values import read_json
from normbench_cli.store.versions import single_version

Synchronous = Literal["OFF", "NORMAL", "FULL"]
# With a write-ahead log, a power failure may lose the last rows, never the database.  The test suite sets this to OFF.
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

    # A connection lasts one transaction, so none is open when a process forks data loaders or is killed.
    engine = create_engine(
        "sqlite://",
        poolclass=NullPool,
        creator=lambda: connect(path, query, location.timeout),
        json_deserializer=read_json,
    )
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def begin(connection: Connection) -> None:
    """Let a writer take the lock immediately: SQLite refuses a reader that becomes a writer, without waiting."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def version_of(location: Location) -> str | None:
    """The schema version of a database; None if it has no tables yet."""
    if location.path is not None:
        return file_version(location.path, location.read_query, location.timeout)
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
        kind = RefusedRow if is_refusal(location, error) else DatabaseError
        raise kind(*error_message(location, error)) from error


def is_refusal(location: Location, error: Exception) -> bool:
    """Whether the row is at fault.  SQLite accepts any value, so its DataErrors mean damage."""
    return isinstance(error, IntegrityError) or (location.path is None and isinstance(error, DataError))


def error_message(location: Location, error: SqlError | sqlite3.Error | UnicodeDecodeError) -> tuple[str, str]:
    """What happened, and what to do about it."""
    orig = error.orig if isinstance(error, SqlError) else error
    cause = " ".join(str(orig).split())
    if location.url is not None and location.url.password:
        cause = cause.replace(str(location.url.password), "***")
    name = f"the database {location.shown}"
    if isinstance(error, IntegrityError):
        return f"{name} refused a row: {cause}", "its run may have been removed meanwhile; see `normbench runs list`"
    if is_refusal(location, error):
        return f"{name} refused a row: {cause}", "shorten or change that value"
    if "locked" in cause or "lock timeout" in cause:
        return locked(name)
    if ("readonly" in cause or "read-only" in cause) and not (location.path and is_full(orig, location.path)):
        return f"{name} is read-only", f"make it writable, or {CHOOSE_ANOTHER}"
    if location.path is None:
        return f"{name} cannot be used: {cause}", server_remedy(cause)
    return unusable(name, location.path, orig)


def server_remedy(cause: str) -> str:
    """What to do about a server's error."""
    if "password" in cause or "authentication" in cause or "pg_hba" in cause:
        return "check the user, and the password in the URL, PGPASSWORD or ~/.pgpass"
    if "database" in cause and "does not exist" in cause:
        return "make an empty one with `createdb`"
    if "permission denied" in cause:
        return "let its owner grant you the right"
    if "too many" in cause or "slots" in cause:
        return "raise its max_connections, or start fewer processes"
    return "check the URL, and that its server is running"
