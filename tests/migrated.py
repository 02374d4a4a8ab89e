"""An empty database of the newest schema, without running every migration each time a test needs one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Engine

from normbench_cli.store import upgrade
from normbench_cli.store.connection import make_engine
from normbench_cli.store.location import parse_location
from normbench_cli.store.schema import VERSION_TABLE

migrate = upgrade.migrate


@cache
def statements() -> list[str]:
    """What makes the tables, indexes and views that the migrations make, in their order."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        engine = make_engine(parse_location(str(path)), "mode=rwc", "OFF")
        migrate(engine)
        engine.dispose()
        with closing(sqlite3.connect(path)) as connection:
            made = connection.execute(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            )
            ((version,),) = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}")
            return [*(sql for (sql,) in made), f"INSERT INTO {VERSION_TABLE} VALUES ('{version}')"]


def create_or_migrate(engine: Engine) -> None:
    """In place of `upgrade.migrate`: SQLite gets an empty file's tables at once; other databases are migrated."""
    if engine.dialect.name == "sqlite":
        with engine.execution_options(writes=True).connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            upgrade.enable_log(raw)
            with connection.begin():
                if not raw.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in statements():
                        raw.execute(statement)
                    return
    migrate(engine)
