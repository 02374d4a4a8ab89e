"""Backups of a database in use."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store import backup as module
from normbench_cli.store.backup import backup
from normbench_cli.store.errors import NoDatabase
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


def test_backups_made_while_runs_are_recorded_have_every_row_up_to_some_moment(
    store: Store, rows: Rows, tmp_path: Path
) -> None:
    run_id, enough = store.begin({}, "f", {}, argv=[]), Event()

    def record() -> None:
        with Store.open(sweep=False) as own:
            for epoch in count(1):
                own.record(run_id, {"train/loss": 1.0, "test/loss": 1.0}, epoch=epoch, step=epoch)
                if enough.is_set():
                    return

    writer = Thread(target=record)
    writer.start()
    copies = [backup(store.location, tmp_path / f"{number}.db") for number in range(5)]
    enough.set()
    writer.join()
    for copy in copies:
        assert rows(copy, "PRAGMA integrity_check") == [("ok",)]
        epochs = [epoch for (epoch,) in rows(copy, "SELECT epoch FROM metrics ORDER BY id")]
        assert epochs == [epoch for epoch in range(1, len(epochs) // 2 + 1) for _ in range(2)]


def test_a_servers_database_is_backed_up_by_its_own_tool() -> None:
    with pytest.raises(DatabaseError, match="pg_dump"):
        backup(parse_location("postgresql://host/name"))


@pytest.mark.parametrize(
    ("error", "raised", "says"),
    [
        (
            sqlite3.OperationalError("disk I/O error"),
            DatabaseError,
            r"the backup .*copy\.db failed: disk I/O error.*disk",
        ),
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
    ],
    ids=str,
)
def test_a_backup_that_fails_leaves_no_file(
    source: Location,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    raised: type[BaseException],
    says: str,
) -> None:
    monkeypatch.setattr(module, "connect", Mock(side_effect=error))
    with pytest.raises(raised, match=says):
        backup(source, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_missing_database_has_no_backup(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase, match=r"no database at .*nothing to back up"):
        backup(parse_location(str(tmp_path / "none.db")))
    assert not list(tmp_path.glob("none*"))


def test_a_chosen_name_has_the_label_the_time_and_the_suffix(source: Location, file: Path) -> None:
    first, second = backup(source, label="0001-"), backup(source, file.parent, label="ignored-")
    assert first.parent == file.parent
    assert re.fullmatch(r"normbench\.backup-0001-\d{8}-\d{6}\.db", first.name)
    assert re.fullmatch(r"normbench\.backup-\d{8}-\d{6}\.db", second.name)


def test_a_backup_has_the_permissions_of_a_new_file(source: Location, tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    assert backup(source, tmp_path / "copy.db").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_without_hard_links_a_backup_does_not_replace_another_one(
    source: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.link", Mock(side_effect=PermissionError))
    real, path = module.copy, tmp_path / "copy.db"

    def copy_beside_another(*args: Any) -> None:
        real(*args)
        path.write_text("another one")

    assert backup(source, tmp_path / "alone.db").stat().st_size > 0
    monkeypatch.setattr(module, "copy", copy_beside_another)
    with pytest.raises(DatabaseError, match="exists"):
        backup(source, path)
    assert path.read_text() == "another one"
