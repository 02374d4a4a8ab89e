"""What spool files hold is recorded once, by the next command that can, and what cannot be recorded is kept."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from normbench_cli import paths
from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store._spool import recorder
from normbench_cli.store._spool.spool import pending
from normbench_cli.store.schema import Run
from tests.faults import locked
from tests.killing import CAN_FORK, FORK

ReadRows = Callable[[Path, str], list[tuple[Any, ...]]]
COUNTS = "SELECT count(*), count(DISTINCT epoch), count(DISTINCT run_id) FROM metrics"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCK_TIMEOUT", "RETRY_LOCK_TIMEOUT"):
        monkeypatch.setattr(recorder, name, 0.02)


@pytest.fixture
def leave(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A run whose process died while its records of three epochs were in a spool; its id."""

    def run(*, end: bool = False) -> str:
        store = Store.open()
        run_id = store.begin({}, "f", {}, argv=[])
        with locked(home / "normbench.db"):
            for epoch in (1, 2, 3):
                store.record(run_id, {"test/accuracy": epoch / 10}, epoch=epoch, step=epoch)
            if end:
                store.end(run_id, "finished")
        store.recorders.clear()  # it dies here
        monkeypatch.setattr("normbench_cli.store._spool.spool.is_alive", lambda *_: False)
        return run_id

    return run


def spools(home: Path) -> list[Path]:
    return sorted(home.glob("*.spool*"))


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("write", [True, False])
def test_the_next_command_records_a_spool_and_says_so(
    home: Path, leave: Callable[..., str], rows: ReadRows, caplog: pytest.LogCaptureFixture, write: bool
) -> None:
    run_id = leave(end=True)
    (path,) = spools(home)
    caplog.clear()
    with Store.open(write=write) as store:
        assert store.find(run_id).status == "finished"
        assert store.latest_metrics(run_id) == {"test/accuracy": 0.3}
    assert lines(caplog) == [f"recorded 3 values of epochs 1-3 and the status finished of run {run_id} from {path}"]
    assert spools(home) == []
    with Store.open():
        assert rows(home / "normbench.db", COUNTS) == [(3, 3, 1)]


def test_who_dies_before_the_file_is_removed_leaves_nothing_twice(
    home: Path, leave: Callable[..., str], rows: ReadRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(end=True)
    with monkeypatch.context() as patch:
        patch.setattr("normbench_cli.store._spool.replay.remove", lambda path: None)
        Store.open().close()
    assert len(spools(home)) == 1
    Store.open().close()
    assert (spools(home), rows(home / "normbench.db", COUNTS)) == ([], [(3, 3, 1)])


def test_a_spool_that_cannot_be_recorded_yet_is_named_once(
    home: Path, leave: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    run_id = leave()
    (path,) = spools(home)
    caplog.clear()
    with locked(home / "normbench.db"):
        for _ in range(2):
            with Store.open(write=False, sweep=True) as store:
                assert store.find(run_id).id == run_id
    (line,) = lines(caplog)
    assert line.startswith(f"still in {path}: 3 values of epochs 1-3 of run {run_id}; the database")
    assert spools(home) == [path]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda store, run_id: store.delete([run_id]), "is not in the database"),
        (lambda store, run_id: set_pid(store), "was continued by another process"),
    ],
    ids=["removed", "continued"],
)
def test_what_does_not_fit_the_database_is_kept_aside(
    home: Path,
    leave: Callable[..., str],
    rows: ReadRows,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Store, str], object],
    why: str,
) -> None:
    run_id = leave()
    monkeypatch.setattr("normbench_cli.store.store.pending", lambda _: [])
    with Store.open(sweep=False) as store:
        change(store, run_id)
    (path,) = spools(home)
    content = path.read_bytes()
    for _ in range(2):
        Store.open().close()
    aside = path.with_name(f"{path.name}.kept")
    assert f"not recorded, because run {run_id} {why}: 3 values of epochs 1-3; kept in {aside}" in lines(caplog)[-1]
    assert (spools(home), aside.read_bytes()) == ([aside], content)
    assert rows(home / "normbench.db", COUNTS) == [(0, 0, 0)]


def set_pid(store: Store) -> None:
    with store.writing() as session:
        session.execute(update(Run).values(pid=1))


def test_removing_a_run_removes_its_spool(home: Path, leave: Callable[..., str]) -> None:
    run_id = leave()
    with Store.open(sweep=False) as store:
        store.delete([run_id])
    assert spools(home) == []


def test_a_damaged_line_costs_its_record_and_is_kept(
    home: Path, leave: Callable[..., str], rows: ReadRows, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = leave(end=True)
    (path,) = spools(home)
    head, first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([head, first.replace(b"accuracy", b"accurate"), *rest]))
    with Store.open() as store:
        assert store.find(run_id).status == "finished"
    assert rows(home / "normbench.db", COUNTS) == [(2, 2, 1)]
    assert "1 damaged lines are left in" in lines(caplog)[-1]
    assert [left.suffix for left in spools(home)] == [".kept"]


def test_a_run_that_is_resumed_gets_its_spool_first(home: Path, leave: Callable[..., str], rows: ReadRows) -> None:
    run_id = leave()
    with Store.open(sweep=False) as store:
        with store.writing() as session:
            session.execute(update(Run).values(status="interrupted"))
        store.reopen(run_id, 2)
        store.record(run_id, {"test/accuracy": 0.9}, epoch=3, step=3)
        assert store.recorders[run_id].metrics == {"test/accuracy": 0.9}
    assert rows(home / "normbench.db", "SELECT epoch, value FROM metrics") == [(1, 0.1), (2, 0.2), (3, 0.9)]


def test_a_dead_run_is_swept_with_what_it_had_spooled(home: Path, leave: Callable[..., str]) -> None:
    run_id = leave()
    with Store.open() as store:
        assert store.latest_metrics(run_id) == {"test/accuracy": 0.3}
        last = store.find(run_id).heartbeat_at
        with store.writing() as session:
            session.execute(update(Run).values(process_started=0))
        store.sweep(grace=last - last)
        run = store.find(run_id)
    assert (run.status, run.finished_at) == ("interrupted", last)


@pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")
def test_processes_that_record_spools_at_once_record_each_once(
    home: Path, leave: Callable[..., str], rows: ReadRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        leave()
    for name in ("LOCK_TIMEOUT", "RETRY_LOCK_TIMEOUT"):
        monkeypatch.setattr(recorder, name, 30)
    start = FORK.Barrier(3)

    def work() -> None:
        start.wait()
        Store.open().close()

    processes = [FORK.Process(target=work) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (spools(home), rows(home / "normbench.db", COUNTS)) == ([], [(9, 3, 3)])


def test_a_database_that_moves_takes_the_spools_beside_it_along(
    home: Path, tmp_path: Path, leave: Callable[..., str], rows: ReadRows
) -> None:
    leave()
    home.rename(tmp_path / "moved")
    Store.open(str(tmp_path / "moved" / "normbench.db")).close()
    assert rows(tmp_path / "moved" / "normbench.db", COUNTS) == [(3, 3, 1)]


def test_the_spool_of_another_database_is_left_alone(home: Path, tmp_path: Path, leave: Callable[..., str]) -> None:
    leave()
    with Store.open(str(home / "other.db")) as other:
        assert pending(other.location) == []
    assert len(spools(home)) == 1


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may give a folder away")
def test_a_folder_that_another_user_has_made_for_temporary_files_is_not_trusted(
    home: Path, tmp_path: Path, leave: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = paths.temporary() / f"normbench-spool-{os.getuid()}"
    folder.mkdir()
    (path,) = spools(home)
    path.rename(folder / path.name)
    with Store.open(sweep=False) as store:
        assert len(pending(store.location)) == 1
        os.chown(folder, 12345, 12345)
        assert pending(store.location) == []


def test_a_run_whose_spool_cannot_be_recorded_is_not_resumed_without_it(
    home: Path, leave: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = leave()
    with Store.open(sweep=False) as store:
        with store.writing() as session:
            session.execute(update(Run).values(status="interrupted"))
        monkeypatch.setattr("normbench_cli.store.recording.replay", lambda *_: iter(["still in a file"]))
        with pytest.raises(NormbenchError, match=f"run {run_id} .* spool"):
            store.reopen(run_id, 2)
