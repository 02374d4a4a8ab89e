"""Backups of a database in use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store.backup import backup
from normbench_cli.store.location import Location, parse_location

Rows = Callable[[Path, str], list[tuple[Any, ...]]]


@pytest.fixture
def source(store: Store, enter: Callable[..., str]) -> Location:
    enter(metrics={"train/loss": 1.0})
    return store.location


def test_backups_never_overwrite_a_file(source: Location, file: Path, tmp_path: Path) -> None:
    names = {backup(source).name for _ in range(3)}
    assert len(names) == 3
    with pytest.raises(DatabaseError, match="exists"):
        backup(source, file)
    assert backup(source, tmp_path).parent == tmp_path
    with pytest.raises(DatabaseError, match="cannot be written"):
        backup(source, tmp_path / "no" / "such" / "folder.db")


def test_a_backup_of_a_database_that_is_being_written_has_whole_transactions(
    source: Location, store: Store, rows: Rows, tmp_path: Path
) -> None:
    with store.writing() as session:
        session.connection().exec_driver_sql("UPDATE runs SET norm = 'half done'")
        copy = backup(source, tmp_path / "copy.db")
    assert rows(copy, "SELECT norm FROM runs") == [("",)]
    assert rows(copy, "PRAGMA quick_check") == [("ok",)]


def test_a_servers_database_is_backed_up_by_its_own_tool() -> None:
    with pytest.raises(DatabaseError, match="server's own tool"):
        backup(parse_location("postgresql://host/name"))
