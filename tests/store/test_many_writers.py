"""Eight processes record into one database while reports read it: no error, no lost row, no error of the reader."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from sqlalchemy import text

from normbench_cli.store import Store, connection
from normbench_cli.store.check import check_database
from tests.killing import CAN_FORK, FORK
from tests.support import RunCommand

WRITERS = 8


def record_epochs(location: str, epochs: int) -> None:
    with Store.open(location) as store, store.hold_open():
        run_id = store.begin({"norm": "batchnorm", "seed": 1}, "f", {}, argv=[])
        for epoch in range(1, epochs + 1):
            values = {"train/loss": 1 / epoch, "test/accuracy": epoch / epochs}
            store.record(run_id, values, epoch=epoch, step=epoch, series={"step_time_ms": [float(epoch)]})
        store.end(run_id, "finished")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def location(home: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database that exists, which commands use too."""
    server = request.param == "postgresql"
    place: str = request.getfixturevalue("postgres_database") if server else str(home / "normbench.db")
    monkeypatch.setenv("NORMBENCH_DB", place)
    Store.open().close()
    return place


@pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")
@pytest.mark.parametrize("epochs", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_eight_writers_and_a_reader(
    home: Path,
    location: str,
    normbench: RunCommand,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    epochs: int,
) -> None:
    reports = 0
    record_epochs(location, epochs=1)
    monkeypatch.setattr(connection, "SYNCHRONOUS", "NORMAL")
    writers = [FORK.Process(target=record_epochs, args=(location, epochs)) for _ in range(WRITERS)]
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
    with Store.open() as store, store.reading() as session:
        assert check_database(store).problems == []
        runs = session.execute(text("SELECT count(*), min(state), max(state) FROM runs")).all()
        metrics = session.execute(text("SELECT count(*), count(DISTINCT run_id || epoch || name) FROM metrics")).all()
        chunks = session.scalar(text("SELECT count(*) FROM samples"))
    rows = 2 * (WRITERS * epochs + 1)
    assert (runs, metrics, chunks) == ([(WRITERS + 1, "finished", "finished")], [(rows, rows)], rows // 2)
    assert list(home.rglob("*.spool*")) == []
    print(f"{WRITERS} x {epochs} epochs, {reports} reports meanwhile")
