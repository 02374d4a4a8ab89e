"""Creating a database, and migrating one to the newest schema."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine

from normbench_cli.errors import DatabaseError
from normbench_cli.store.backup import backup
from normbench_cli.store.connection import make_engine, translate_errors, version_of
from normbench_cli.store.location import Location
from normbench_cli.store.schema import HEAD
from normbench_cli.store.sqlite_file import BUSY_SECONDS

if TYPE_CHECKING:
    from alembic.config import Config


def migrations_folder() -> Path:
    """The folder of migrations: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def alembic_config(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(engine: Engine) -> None:
    """Migrate a database, which may be empty, to the newest schema in one transaction.

    The transaction takes the write lock when it begins: if two processes create the same database, the second waits
    and then finds it created.  Foreign keys are off meanwhile, because SQLite alters a table by dropping it, which
    would delete the rows that refer to it.
    """
    from alembic import command

    with engine.execution_options(writes="alone").connect() as connection:
        is_sqlite = engine.dialect.name == "sqlite"
        raw: Any = connection.connection.dbapi_connection
        if is_sqlite:
            enable_log(raw)
            raw.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
            raw.execute("PRAGMA legacy_alter_table = ON")  # otherwise a table used by a view could not be replaced
        with connection.begin():
            dangling = dangling_references(raw) if is_sqlite else Counter()
            command.upgrade(alembic_config(connection), "head")
            if is_sqlite and (added := dangling_references(raw) - dangling):
                raise DatabaseError(
                    f"{added.total()} rows would refer to rows that are not there", "report this as a bug"
                )
        if is_sqlite:
            raw.execute("PRAGMA legacy_alter_table = OFF")
            raw.execute("PRAGMA foreign_keys = ON")


def dangling_references(connection: sqlite3.Connection) -> Counter[tuple[str, str]]:
    """How many rows of a table refer to missing rows of another, by the names of both."""
    return Counter((table, other) for table, _, other, _ in connection.execute("PRAGMA foreign_key_check"))


def enable_log(connection: sqlite3.Connection) -> None:
    """Switch the file permanently to write-ahead logging, so that readers and the writer do not wait for each other.

    The switch needs exclusive access, for which SQLite does not wait, so this function does.
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


def upgrade(location: Location) -> tuple[str | None, Path | None]:
    """Migrate a database to the newest schema after a backup; returns its old version, and the path of the backup.

    The version is None if the database did not exist and was created, the path None if no backup was needed.
    """
    before, copy = version_of(location), None
    if before == HEAD:
        return before, None
    location.ensure_writable()
    if before is not None and location.path is not None:
        copy = backup(location, label=f"{before}-")
    engine = make_engine(location, "mode=rwc")
    try:
        with translate_errors(location):
            migrate(engine)
    except DatabaseError as error:
        kept = f"; the backup is {copy}" if copy else ""
        raise DatabaseError(f"the upgrade failed and changed nothing: {error}{kept}") from error
    finally:
        engine.dispose()
    return before, copy
