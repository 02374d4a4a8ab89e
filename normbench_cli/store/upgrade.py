"""Making a database, moving one to the newest schema, and backing one up."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from normbench_cli.errors import DatabaseError
from normbench_cli.store.connection import make_engine, translate_errors, version_of
from normbench_cli.store.location import BUSY_SECONDS, CHOOSE, Location, NoDatabase, connect, file_version
from normbench_cli.store.schema import HEAD


def migrations_folder() -> Path:
    """Inside the package when installed, at the top of a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def alembic_config(connection: Connection | None = None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(engine: Engine) -> None:
    """Bring a database (an empty one, too) to the newest schema: all of it or nothing.

    The transaction locks the database when it begins, so of two processes that make the same one the second
    waits and then finds it made.  Foreign keys are off meanwhile: SQLite changes a table by dropping it, which would
    take the rows that point to it along.
    """
    from alembic import command

    with engine.execution_options(writes=True).connect() as connection:
        is_sqlite = engine.dialect.name == "sqlite"
        raw: Any = connection.connection.dbapi_connection
        if is_sqlite:
            use_log(raw)
            raw.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
        with connection.begin():
            command.upgrade(alembic_config(connection), "head")
            if is_sqlite and (broken := raw.execute("PRAGMA foreign_key_check").fetchall()):
                raise DatabaseError(f"{len(broken)} rows point to rows that are not there")
        if is_sqlite:
            raw.execute("PRAGMA foreign_keys = ON")


def use_log(connection: sqlite3.Connection) -> None:
    """Write-ahead logging, kept in the file: readers and the writer do not wait for each other.

    The switch needs the file for itself and SQLite does not wait for that, so we do.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def backup_name(path: Path, word: str = "") -> Path:
    """A name beside the database that nothing has yet: normbench.backup-20260131-120000.db."""
    stem = f"{path.stem}.backup-{word}{datetime.now():%Y%m%d-%H%M%S}"
    names = (path.with_name(f"{stem}{f'-{n}' if n else ''}{path.suffix}") for n in range(1000))
    return next(name for name in names if not name.exists())


def backup(source: Location, target: Path | None = None, word: str = "") -> Path:
    """Copy an SQLite database that may be in use; never over another file."""
    if source.path is None:
        raise DatabaseError(f"{source.shown} is not an SQLite file", "use its server's own tool for backups")
    if file_version(source.path) is None:
        raise NoDatabase(f"there is no database at {source.shown}", "nothing to back up")
    if target is None:
        target = backup_name(source.path, word)
    elif target.is_dir():
        target = target / backup_name(source.path).name
    do = "give the name of a new file"
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # ours, or an error
    except FileExistsError as error:
        raise DatabaseError(f"{target} exists", do) from error
    except OSError as error:
        raise DatabaseError(f"{target} cannot be written: {error.strerror}", do) from error
    try:
        with closing(connect(source.path, source.reading)) as old, closing(connect(target.absolute())) as new:
            old.backup(new)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise DatabaseError(f"the backup {target} failed: {error}", f"look at its disk, or {CHOOSE}") from error
        raise
    return target


def upgrade(place: Location) -> tuple[str | None, Path | None]:
    """Bring a database to the newest schema after a backup: its version before, and where the backup is.

    No version means that there was no database and that one was made; no backup, that none was needed.
    """
    before, copy = version_of(place), None
    if before == HEAD:
        return before, None
    place.ensure_writable()
    if before is not None and place.path is not None:
        copy = backup(place, word=f"{before}-")
    engine = make_engine(place, "mode=rwc")
    try:
        with translate_errors(place):
            migrate(engine)
    except DatabaseError as error:
        kept = f"; the backup is {copy}" if copy else ""
        raise DatabaseError(f"the upgrade failed and changed nothing: {error}{kept}") from error
    finally:
        engine.dispose()
    return before, copy
