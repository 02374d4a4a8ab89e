"""Which writes go to a spool: those of a live process's own runs, which nobody else records or reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store._spool.spool import pending
from tests.faults import locked
from tests.store.spooling import lines, run_in, spools, write_all

pytestmark = pytest.mark.usefixtures("hurry")
ReadRows = Callable[[Path, str], list[tuple[Any, ...]]]


def test_a_lost_sign_of_life_is_no_trouble(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            store.heartbeat(run_id)
        before = store.find(run_id).heartbeat_at
        store.heartbeat(run_id)
        assert store.find(run_id).heartbeat_at > before
    assert lines(caplog) == []


def test_runs_of_others_are_not_spooled(database: Path, tmp_path: Path) -> None:
    with Store.open(str(database)) as store, Store.open(str(database)) as other:
        run_id = run_in(store)
        with closing(Store(replace(other.location, timeout=0.05))) as impatient, locked(database):
            with pytest.raises(DatabaseError, match="being written by another program"):
                impatient.record(run_id, {"a": 1})
            with pytest.raises(DatabaseError, match="being written by another program"):
                impatient.end(run_id, "failed")
    assert spools(tmp_path) == []


def test_a_run_that_is_removed_meanwhile_is_an_error_and_leaves_no_spool(database: Path, tmp_path: Path) -> None:
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            store.record(run_id, {"a": 1})
        with Store.open(str(database)) as other:
            other.delete([run_id])
        with pytest.raises(DatabaseError, match="may have been removed meanwhile"):
            store.record(run_id, {"a": 2})
    assert spools(tmp_path) == []


def test_the_spool_of_a_live_run_is_left_to_it(database: Path, rows: ReadRows) -> None:
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            write_all(store, run_id, last=2, end=False)
        with Store.open(str(database)) as other:
            assert [(spool.owner.run, spool.is_live) for spool in pending(other.location)] == [(run_id, True)]
            assert other.find(run_id).status == "running"
        assert rows(database, "SELECT * FROM metrics") == []
    assert rows(database, "SELECT count(*) FROM metrics") == [(4,)]
