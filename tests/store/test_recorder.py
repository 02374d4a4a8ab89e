"""While a database cannot be written its runs go on: nothing is lost, nothing is there twice, and it is said once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store._spool import recorder
from normbench_cli.store._spool.writes import measured
from normbench_cli.store.errors import RefusedRow
from normbench_cli.store.rows import Measurements
from tests.faults import FAULTS, gone, largest_file, locked
from tests.store.spooling import lines, run_in, spools, write_all

ROWS = (
    "SELECT epoch, step, split, condition, name, ifnull(value, 'nan'), unit FROM metrics ORDER BY id",
    "SELECT epoch, name, first_step, count, hex(data) FROM samples ORDER BY id",
    "SELECT state, message, details FROM runs",
)
pytestmark = pytest.mark.usefixtures("hurry")
ReadRows = Callable[[Path, str], list[tuple[Any, ...]]]


@pytest.fixture
def undisturbed(tmp_path: Path, rows: ReadRows) -> list[list[tuple[Any, ...]]]:
    path = tmp_path / "undisturbed.db"
    with Store.open(str(path)) as store:
        write_all(store, run_in(store))
    return [rows(path, query) for query in ROWS]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("recovers", ["while it runs", "later"])
def test_after_a_fault_the_rows_are_those_of_an_undisturbed_run(
    fault: str,
    recovers: str,
    database: Path,
    tmp_path: Path,
    undisturbed: list[Any],
    rows: ReadRows,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store.open(str(database))
    with store.hold_open():
        run_id = run_in(store)
        write_all(store, run_id, last=2, end=False)
        with FAULTS[fault](database):
            write_all(store, run_id, first=3, last=4, end=False)
            if recovers == "later":
                write_all(store, run_id, first=5)
                store.close()
            (spool,) = spools(tmp_path)
            (said,) = lines(caplog)
        if recovers == "while it runs":
            write_all(store, run_id, first=5)
            store.close()
    where = database.parent if fault in ("locked", "read-only file") else tmp_path / "home" / "spool"
    assert (spool.parent, store.lost(run_id)) == (where, "")
    assert f"run {run_id} goes on, and its records are kept in {spool}" in said
    with Store.open(str(database)):
        pass
    assert [rows(database, query) for query in ROWS] == undisturbed
    assert len(lines(caplog)) == 2
    again = "can be written again" if recovers == "while it runs" else "recorded 8 values of epochs 3-6"
    assert again in lines(caplog)[1]
    assert (spools(tmp_path), (tmp_path / "home" / "spool").exists()) == ([], False)


@pytest.mark.parametrize("fault", ["full"])
def test_what_fits_nowhere_waits_in_memory_and_is_named(
    fault: str,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    rows: ReadRows,
    undisturbed: Any,
) -> None:
    """The full disk has all three places of a spool file."""
    for name in ("NORMBENCH_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(database.parent / name))
        (database.parent / name).mkdir()
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with FAULTS[fault](database):
            assert store.sync()
            write_all(store, run_id)
            assert not store.sync()
            assert store.lost(run_id).startswith(
                "12 values of epochs 1-6, 6 pieces of series, its details, the remark 'a remark' and the status "
                f"finished of run {run_id} could be written nowhere: the database {database} could not be written"
            )
            assert [line.rpartition("kept ")[2] for line in lines(caplog)] == ["in memory, as no file can be written"]
    assert [rows(database, query) for query in ROWS] == undisturbed


def test_a_limit_on_the_size_of_files_is_a_full_disk(home: Path, rows: ReadRows, undisturbed: Any) -> None:
    with Store.open() as store:
        run_id = run_in(store)
        with largest_file(4000):
            write_all(store, run_id)
            assert store.lost(run_id) == ""
    assert [rows(home / "normbench.db", query) for query in ROWS] == undisturbed


def test_a_spool_file_that_cannot_grow_is_continued_elsewhere(database: Path, home: Path, rows: ReadRows) -> None:
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            write_all(store, run_id, last=2, end=False)
            (beside,) = spools(database.parent)
            beside.chmod(0o400)
            with FAULTS["read-only folder"](beside):
                write_all(store, run_id, first=3, last=4, end=False)
            (other,) = spools(home)
            assert other.stat().st_size > beside.stat().st_size
    assert spools(database.parent, home) == []
    assert rows(database, "SELECT count(*), count(DISTINCT step) FROM metrics") == [(8, 4)]


def test_a_folder_that_disappeared_is_not_made_again(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's folder, and in another place of the same name as the home folder's, there is now another one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    with Store.open() as store:
        run_id = run_in(store)
        with gone(home):
            home.mkdir()
            write_all(store, run_id, last=1, end=False)
            assert list(home.iterdir()) == []
            assert len(spools(tmp_path / "tmp")) == 1
            home.rmdir()
        write_all(store, run_id, first=2)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_lock_costs_a_training_one_wait_and_then_little(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[float]()
    real = Store.writing

    def writing(self: Store, timeout: float | None = None) -> Any:
        asked.append(timeout or math.inf)
        return real(self, timeout)

    monkeypatch.setattr(recorder, "LOCK_TIMEOUT", 0.05)
    monkeypatch.setattr(recorder, "SECONDS_BETWEEN_TRIES", 3600)
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            monkeypatch.setattr(Store, "writing", writing)
            write_all(store, run_id)
    assert asked == [0.05, 0.05, 0.02]  # the first record, the end, and the end of the program


def test_an_error_whose_rows_are_there_all_the_same_does_not_double_them(
    database: Path, monkeypatch: pytest.MonkeyPatch, rows: ReadRows, undisturbed: Any
) -> None:
    """As of a server whose connection ends while it commits."""
    real, fails = Store.writing, cycle([True, False])

    @contextmanager
    def writing(self: Store, timeout: float | None = None) -> Iterator[Any]:
        with real(self, timeout) as session:
            yield session
        if next(fails):
            raise DatabaseError("the connection has ended")

    with Store.open(str(database)) as store:
        run_id = run_in(store)
        monkeypatch.setattr(Store, "writing", writing)
        write_all(store, run_id)
    assert [rows(database, query) for query in ROWS] == undisturbed


def test_a_refused_write_does_not_cost_the_pending_ones(database: Path, rows: ReadRows) -> None:
    with Store.open(str(database)) as store:
        run_id = run_in(store)
        with locked(database):
            write_all(store, run_id, last=2, end=False)
        refused = measured(run_id, [Measurements({"train/loss": 1.0}, 3, 6)])
        with pytest.raises(RefusedRow):
            store.recorders[run_id].write(replace(refused, metrics=[{**refused.metrics[0], "name": None}]))
        assert spools(database.parent) == []
    assert rows(database, "SELECT DISTINCT epoch FROM metrics ORDER BY id") == [(1,), (2,)]
