"""Whatever rows a database of the first schema has: an upgrade keeps every value, to the last byte and type."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from normbench_cli.store.location import parse_location
from normbench_cli.store.schema import HEAD
from normbench_cli.store.upgrade import upgrade
from tests.store.old_databases import FIRST, TABLES, backups, contents, make_first, old_columns, version

Row = dict[str, Any]
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {  # by the declared type; SQLite keeps what it is given
    "INTEGER": NUMBERS,
    "BIGINT": NUMBERS,
    "DOUBLE": st.floats(allow_nan=False),
    "BLOB": st.binary(max_size=50),
    "JSON": st.one_of(st.just("{}"), TEXTS),
    "DATETIME": st.one_of(st.datetimes().map(str), TEXTS),
}


def kinds(path: Path) -> dict[str, dict[str, tuple[str, bool]]]:
    """The columns of each table, with their types and whether they may be NULL."""
    with closing(sqlite3.connect(path)) as connection:
        described = {table: connection.execute(f"PRAGMA table_info({table})").fetchall() for table in TABLES}
    return {
        table: {name: (kind, not needed) for _, name, kind, needed, *_ in rows} for table, rows in described.items()
    }


@st.composite
def random_rows(draw: st.DrawFn, columns: dict[str, dict[str, tuple[str, bool]]]) -> dict[str, list[Row]]:
    """Rows for every table, with references that hold."""
    rows = {
        table: draw(
            st.lists(st.fixed_dictionaries({name: value(*kind) for name, kind in columns[table].items()}), max_size=4)
        )
        for table in TABLES
    }
    numbered = {table: [row | {"id": number} for number, row in enumerate(rows[table], 1)] for table in TABLES}
    numbered["environments"] = [{"id": number, "hash": f"{number}", "facts": "{}"} for number in (1, 2)]
    numbered["runs"] = [
        row | {"id": f"{row['id']:08x}", "environment_id": 1 + row["id"] % 2} for row in numbered["runs"]
    ]
    ids = [run["id"] for run in numbered["runs"]]
    for table in ("metrics", "samples"):
        numbered[table] = [row | {"run_id": draw(st.sampled_from(ids))} for row in numbered[table] if ids]
    return numbered


def value(kind: str, nullable: bool) -> st.SearchStrategy[Any]:
    found = VALUES.get(kind, TEXTS)
    return st.one_of(st.none(), found) if nullable else found


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the first schema without rows."""
    path = make_first(tmp_path_factory.mktemp("empty") / "empty.db")
    with closing(sqlite3.connect(path)) as connection:
        for table in reversed(TABLES):
            connection.execute(f"DELETE FROM {table}")
        connection.commit()
    return path


def check_upgrade(empty: Path, rows: dict[str, list[Row]]) -> None:
    path = empty.with_name("filled.db")
    shutil.copy(empty, path)
    try:
        with closing(sqlite3.connect(path)) as connection:
            for table, listed in rows.items():
                for row in listed:
                    names, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", list(row.values()))
            connection.commit()
        before = contents(path, columns := old_columns(path))
        assert upgrade(parse_location(str(path)))[0] == FIRST
        assert version(path) == HEAD
        assert contents(path, columns) == before
        (backup,) = backups(path)
        assert contents(backup, columns) == before
    finally:
        for left in path.parent.glob("filled*"):
            left.unlink()


def check(empty: Path, data: st.DataObject) -> None:
    check_upgrade(empty, data.draw(random_rows(kinds(empty))))


@given(data=st.data())
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
def test_an_upgrade_keeps_random_rows(empty: Path, data: st.DataObject) -> None:
    check(empty, data)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow])
def test_an_upgrade_keeps_many_random_rows(empty: Path, data: st.DataObject) -> None:
    check(empty, data)
