"""SQLAlchemy engines for a location, and what the database's own errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, text
from sqlalchemy.exc import DatabaseError as SqlError
from sqlalchemy.exc import IntegrityError, NoSuchModuleError

from normbench_cli.errors import DatabaseError
from normbench_cli.store.location import RESTORE, Location, check_versions, connect, file_version
from normbench_cli.store.schema import VERSION_TABLE, Base

SYNCHRONOUS = "NORMAL"  # with the log, a power cut may cost the last rows and never the database


def make_engine(location: Location, query: str) -> Engine:
    path = location.path
    if path is None:
        return server_engine(location)
    # A connection lasts one transaction: none is in use when a process forks its data loaders or is killed.
    engine = create_engine("sqlite://", poolclass=NullPool, creator=lambda: connect(path, query))
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


def prepare(connection: sqlite3.Connection, record: Any) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")


def begin(connection: Connection) -> None:
    """A writer takes the lock at once: one that reads first and wants it later is refused without waiting."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def version_of(location: Location) -> str | None:
    """The schema version of a database; None if it is still to be made."""
    if location.path is not None:
        return file_version(location.path)
    engine = server_engine(location)
    try:
        with translate_errors(location), engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
            if VERSION_TABLE in tables:
                rows = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars()
                return check_versions(list(rows), location.shown)
    finally:
        engine.dispose()
    if taken := sorted(tables & set(Base.metadata.tables)):
        raise DatabaseError(
            f"the database {location.shown} has another program's table '{taken[0]}'", "give normbench one of its own"
        )
    return None


@contextmanager
def translate_errors(location: Location) -> Iterator[None]:
    """The database's errors as one line each that says what to do."""
    try:
        yield
    except (SqlError, sqlite3.Error) as error:
        raise DatabaseError(*error_message(location, error)) from error


def error_message(location: Location, error: SqlError | sqlite3.Error) -> tuple[str, str]:
    cause = " ".join(str(error.orig if isinstance(error, SqlError) else error).split())
    name = f"the database {location.shown}"
    if isinstance(error, IntegrityError):
        return f"{name} refused a row: {cause}", "was its run removed meanwhile? see `normbench runs list`"
    if "locked" in cause:
        return f"{name} is being written by another program", "try again when that has ended"
    if "readonly" in cause or "read-only" in cause:
        return f"{name} is read-only", "make it writable, or name another file with --db"
    if "full" in cause:
        return f"{name} could not be written: {cause}", "make room on its disk"
    if location.path is None:
        return f"{name} cannot be used: {cause}", "look at the URL, and whether its server runs"
    return f"{name} cannot be used: {cause}", f"see `normbench db check`; {RESTORE}"
