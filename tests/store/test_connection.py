"""How connections are set up, for files and for servers, and what their errors become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import make_url, select, update

import normbench_cli.store
from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.connection import Synchronous, version_of
from normbench_cli.store.location import Location
from normbench_cli.store.queries import series_names
from normbench_cli.store.schema import HEAD, VERSION_TABLE, Run
from normbench_cli.store.upgrade import upgrade


def pragma(store: Store, name: str) -> Any:
    with store.reading() as session:
        return session.connection().exec_driver_sql(f"PRAGMA {name}").scalar_one()


def test_a_file_has_a_write_ahead_log_foreign_keys_and_a_timeout(store: Store) -> None:
    assert pragma(store, "journal_mode") == "wal"
    assert pragma(store, "foreign_keys") == 1
    assert pragma(store, "busy_timeout") == 30_000


@pytest.mark.parametrize(("synchronous", "number"), [("OFF", 0), ("NORMAL", 1), ("FULL", 2)])
def test_the_caller_decides_when_sqlite_waits_for_the_disk(synchronous: Synchronous, number: int) -> None:
    with Store.open(synchronous=synchronous) as store:
        assert pragma(store, "synchronous") == number


def test_a_locked_database_is_one_line_of_error(store: Store, enter: Callable[..., str]) -> None:
    run_id = enter()
    with store.writing() as session, Store(replace(store.location, timeout=0.1)) as impatient:
        session.execute(update(Run).values(note="still writing"))
        with pytest.raises(NormbenchError, match="being written by another program"):
            impatient.end(run_id, "failed")
    assert store.find(run_id).status == "finished"


@pytest.fixture
def server(tmp_path: Path) -> Location:
    """A database that is known by its URL alone, as a server is; SQLite's driver plays the server."""
    return Location("a server", url=make_url(f"sqlite:///{tmp_path / 'server.db'}"))


def test_a_server_database_is_created_and_used_through_its_url(server: Location) -> None:
    assert version_of(server) is None
    assert upgrade(server) == (None, None)
    assert version_of(server) == HEAD
    with Store(server) as store:
        run_id = store.begin({"norm": "bn"}, "f", {}, argv=[])
        store.record(run_id, {"train/loss": 1.0})
        store.end(run_id, "finished")
        assert store.find(run_id).norm == "bn"
        assert store.latest_metrics(run_id) == {"train/loss": 1.0}


def test_a_server_database_of_another_program_is_left_alone(server: Location) -> None:
    with Store(server).writing() as session:
        session.connection().exec_driver_sql("CREATE TABLE runs (distance)")
    with pytest.raises(DatabaseError, match="another program's table 'runs'"):
        upgrade(server)


def test_a_server_database_may_have_other_tables(server: Location) -> None:
    with Store(server).writing() as session:
        session.connection().exec_driver_sql("CREATE TABLE notes (text)")
    assert version_of(server) is None
    upgrade(server)
    assert version_of(server) == HEAD


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (f"UPDATE {VERSION_TABLE} SET version_num = '9999'", "a newer normbench"),
        (f"DELETE FROM {VERSION_TABLE}", "0 schema versions, not one"),
        (f"INSERT INTO {VERSION_TABLE} VALUES ('0000')", "2 schema versions, not one"),
    ],
)
def test_a_server_database_of_another_version_is_refused(server: Location, statement: str, says: str) -> None:
    upgrade(server)
    with Store(server).writing() as session:
        session.connection().exec_driver_sql(statement)
    with pytest.raises(DatabaseError, match=f"a server .*{says}"):
        version_of(server)


def test_a_server_needs_no_file_kept_open_and_no_sync(server: Location) -> None:
    upgrade(server)
    with Store(server) as store, store.hold_open():
        store.sync()
        assert store.count() == 0


def test_a_record_is_written_whole_or_not_at_all(
    store: Store, enter: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = enter("running")
    with monkeypatch.context() as patch:
        patch.setattr("normbench_cli.store._spool.writes.update_heartbeat", Mock(side_effect=ZeroDivisionError))
        with pytest.raises(ZeroDivisionError):  # after the rows were inserted
            store.record(run_id, {"train/loss": 1}, series={"train/loss": [1.0]})
    assert store.latest_metrics(run_id) == {}
    assert series_names(store, run_id) == []


def test_readers_do_not_wait_for_a_writer_and_see_one_state(store: Store, enter: Callable[..., str]) -> None:
    run_id = enter()
    with Store(replace(store.location, timeout=0.1)) as other, other.reading() as reader:
        assert reader.scalar(select(Run.note)) == ""
        with store.writing() as session:
            session.execute(update(Run).values(note="new"))
            assert other.find(run_id).note == ""
        assert reader.scalar(select(Run.note)) == ""
        assert other.find(run_id).note == "new"


def test_a_writer_has_the_lock_from_its_first_statement_on(store: Store, enter: Callable[..., str]) -> None:
    run_id = enter("running")
    with Store(replace(store.location, timeout=0.1)) as other, store.writing() as session:
        assert session.scalar(select(Run.id)) == run_id  # it only reads
        with pytest.raises(DatabaseError, match="being written by another program"):
            other.heartbeat(run_id)


def test_the_package_has_the_store_and_no_other_name() -> None:
    assert normbench_cli.store.Store is Store
    with pytest.raises(AttributeError, match=r"module 'normbench_cli\.store' has no attribute 'nothing'"):
        normbench_cli.store.nothing  # noqa: B018
