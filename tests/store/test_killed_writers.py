"""Writers that are killed at random moments: the file stays sound, no finished run is missing, none is there twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
import warnings
from contextlib import closing
from datetime import timedelta
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from normbench_cli.store import Store
from normbench_cli.store._spool import recorder
from normbench_cli.store._spool.spool import pending
from tests.faults import integrity
from tests.killing import CAN_FORK, FORK

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")

EPOCHS = 4
TWICE = (
    "SELECT * FROM metrics GROUP BY run_id, epoch, step, split, name, condition HAVING count(*) > 1",
    "SELECT * FROM samples GROUP BY run_id, name, first_step HAVING count(*) > 1",
)
FINISHED = "SELECT id FROM runs WHERE state = 'finished' AND "
GAPS = (  # epochs are recorded in order, a value and a piece of a series each
    "SELECT run_id FROM metrics GROUP BY run_id HAVING max(epoch) != count(*)",
    f"{FINISHED} {EPOCHS} != (SELECT count(*) FROM metrics WHERE run_id = runs.id)",
    f"{FINISHED} {EPOCHS} != (SELECT count(*) FROM samples WHERE run_id = runs.id)",
)


def write_run(store: Store) -> str:
    run_id = store.begin({}, "f", {}, argv=[])
    for epoch in range(1, EPOCHS + 1):
        series = {"lr": [float(epoch)] * 50}
        store.record(run_id, {"train/loss": 1 / epoch}, epoch=epoch, step=50 * epoch, series=series)
    store.end(run_id, "finished")
    return run_id


def write_runs(database: Path, ended: Path, ready: Event) -> None:
    """Record run after run until killed.  The id of each that has ended goes into a file."""
    recorder.SECONDS_BETWEEN_TRIES = 0
    handle = os.open(ended, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        with Store.open(str(database)) as store, store.hold_open():
            ready.set()
            recorder.LOCK_TIMEOUT = recorder.RETRY_LOCK_TIMEOUT = 0.01
            for _ in range(5):
                run_id = write_run(store)
                if not store.lost(run_id):
                    os.write(handle, f"{run_id}\n".encode())


def start_writer(database: Path, ended: Path) -> tuple[BaseProcess, Event]:
    ready: Event = FORK.Event()
    process: BaseProcess = FORK.Process(target=write_runs, args=(database, ended, ready))
    with warnings.catch_warnings():  # about threads, which are idle and hold no locks
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process, ready


def kill_writers(database: Path, ended: Path, kills: int, run_seconds: float) -> int:
    """Kill writers in turn while they record, while another program holds the lock, and while they open the database,
    which records what the one before has left; how many have left a spool."""
    rng, spooled, opening = random.Random(kills), 0, 0.1
    for number in range(kills):
        began = time.monotonic()
        process, ready = start_writer(database, ended)
        with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as stranger:
            if number % 3 < 2:
                assert ready.wait(60)
                opening = time.monotonic() - began
                time.sleep(rng.uniform(0, 3) * run_seconds)
                if number % 3 == 1:
                    stranger.execute("BEGIN IMMEDIATE")
                    time.sleep(rng.uniform(0.3, 3) * run_seconds)
            else:
                time.sleep(rng.uniform(0, opening))
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL, number
        spooled += number % 3 == 1 and bool(list(database.parent.glob("*.spool")))
        assert integrity(database) == ["ok"], number
    return spooled


@pytest.mark.parametrize("kills", [9, pytest.param(300, marks=pytest.mark.slow)])
def test_after_any_kill_the_database_is_whole(home: Path, kills: int) -> None:
    database, ended = home / "normbench.db", home / "ended"
    with Store.open() as store:
        write_run(store)
        began = time.monotonic()
        write_run(store)
        run_seconds = time.monotonic() - began
    spooled = kill_writers(database, ended, kills, min(run_seconds, 0.2))
    with Store.open() as store:
        store.sweep(grace=timedelta(0))
        assert pending(store.location) == []
    with closing(sqlite3.connect(database)) as connection:
        states = dict(connection.execute("SELECT id, state FROM runs"))
        for query in (*TWICE, *GAPS):
            assert connection.execute(query).fetchall() == [], query
    announced = ended.read_text().split() if ended.exists() else []
    assert {states[run_id] for run_id in announced} <= {"finished"}
    assert set(states.values()) <= {"finished", "interrupted"}
    assert list(home.glob("*.kept")) == []
    print(f"{kills} kills: {len(announced)} runs ended, {len(states)} begun, {spooled} times a spool was left")
    if kills > 100:
        assert min(len(announced), spooled) > 10
