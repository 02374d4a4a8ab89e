"""Eight processes record into one file while reports read it: no error, no lost row, no error of the reader."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from normbench_cli.store import Store, connection
from tests.faults import integrity
from tests.killing import CAN_FORK, FORK
from tests.support import RunCommand

WRITERS = 8


def record_epochs(database: Path, epochs: int) -> None:
    with Store.open(str(database)) as store, store.hold_open():
        run_id = store.begin({"norm": "batchnorm", "seed": 1}, "f", {}, argv=[])
        for epoch in range(1, epochs + 1):
            values = {"train/loss": 1 / epoch, "test/accuracy": epoch / epochs}
            store.record(run_id, values, epoch=epoch, step=epoch, series={"step_time_ms": [float(epoch)]})
        store.end(run_id, "finished")


@pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")
@pytest.mark.parametrize("epochs", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_eight_writers_and_a_reader(
    home: Path, normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, epochs: int
) -> None:
    database, reports = home / "normbench.db", 0
    record_epochs(home_made(database), epochs=1)
    monkeypatch.setattr(connection, "SYNCHRONOUS", "NORMAL")
    writers = [FORK.Process(target=record_epochs, args=(database, epochs)) for _ in range(WRITERS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for writer in writers:
            writer.start()
    while any(writer.is_alive() for writer in writers):
        ended = normbench("report", "--metric", "test/accuracy")
        assert ended.code == 0, ended.err
        reports += 1
    assert ([writer.exitcode for writer in writers], caplog.messages) == ([0] * WRITERS, [])
    assert reports > 0
    assert integrity(database) == ["ok"]
    with closing(sqlite3.connect(database)) as reader:
        runs = reader.execute("SELECT count(*), min(state), max(state) FROM runs").fetchall()
        metrics = reader.execute("SELECT count(*), count(DISTINCT run_id || epoch || name) FROM metrics").fetchall()
        (chunks,) = reader.execute("SELECT count(*) FROM samples").fetchall()
    rows = 2 * (WRITERS * epochs + 1)
    assert (runs, metrics, chunks) == ([(WRITERS + 1, "finished", "finished")], [(rows, rows)], (rows // 2,))
    assert list(home.glob("*.spool*")) == []
    print(f"{WRITERS} x {epochs} epochs, {reports} reports meanwhile")


def home_made(database: Path) -> Path:
    Store.open(str(database)).close()
    return database
