"""A night that is killed at any moment: nothing is half counted, and the next one is whole."""

from __future__ import annotations

import json
import multiprocessing
import random
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from normbench_cli.nightly.cell import NightlyCell, cell_json
from normbench_cli.nightly.cell_process import command
from normbench_cli.nightly.history import read_nights
from normbench_cli.nightly.suite import NightlySuite, read_suite
from normbench_cli.store import Store
from normbench_cli.store.check import check_database
from normbench_cli.store.nights import night_values
from tests.killing import recorded_runs
from tests.nightly.in_process import measure_here
from tests.nightly.support import run

TINY = """
[settings]
device = "cpu"
data = "digits:size=8"
model = "mlp:width=8"

[train.mlp]
norms = ["batchnorm", "popnorm"]
iterations = 2

[profile.layer]
norms = ["popnorm"]
shapes = ["16x8"]
rounds = 5
"""
VALUES = {"mlp/batchnorm": 6, "mlp/popnorm": 6, "layer/popnorm": 3}  # how many each cell records
TIMES = 20
SPAWN = multiprocessing.get_context("spawn")  # SQLite forbids to carry an open connection through a fork


def tiny_suite() -> NightlySuite:
    path = Path("tiny.toml")
    path.write_text(TINY)
    return read_suite(str(path))


def whole_night(day: int) -> tuple[int | None, float]:
    """A night in a process of its own: its exit code, and the seconds it took."""
    began = time.monotonic()
    process = SPAWN.Process(target=run, args=(day, tiny_suite(), measure_here))
    process.start()
    process.join()
    return process.exitcode, time.monotonic() - began


def kill_a_night(day: int, after: float) -> None:
    process = SPAWN.Process(target=run, args=(day, tiny_suite(), measure_here))
    process.start()
    time.sleep(after)
    process.kill()
    process.join()


def check_what_is_left(home: Path) -> None:
    with closing(sqlite3.connect(home / "normbench.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open() as store:
        cells = Counter((row.night_id, row.cell) for row in night_values(store) if row.repeat == 0)
        assert all(count == VALUES[cell] for (_, cell), count in cells.items()), "a cell is half counted"


@pytest.mark.slow
def test_a_night_killed_at_a_random_moment_twenty_times(home: Path) -> None:
    code, seconds = whole_night(0)
    assert code == 0
    rng = random.Random(0)
    for time_killed in range(1, TIMES + 1):
        kill_a_night(time_killed, rng.uniform(0.02, 1.0) * seconds)
        check_what_is_left(home)
        same_or_next_day = time_killed + rng.randrange(2)  # it goes on, or the next day has a night of its own
        code, _ = whole_night(same_or_next_day)
        assert code == 0
        check_what_is_left(home)
        with Store.open() as store:
            nights = read_nights(store, "tiny")
            store.sweep(grace=timedelta(0))
            measured = Counter(row.cell for row in night_values(store) if row.night_id == nights[-1].id)
            assert check_database(store).problems == []
        assert nights[-1].status == "finished"
        assert "running" not in {night.status for night in nights}
        assert {cell: measured[cell] >= count for cell, count in VALUES.items()} == dict.fromkeys(VALUES, True)
    runs = recorded_runs(home)
    assert {run.status for run in runs} <= {"finished", "interrupted"}
    assert len({run.id for run in runs}) == len(runs)


def start_cell(cell: NightlyCell) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps({"cell": cell_json(cell), "db": None}).encode() + b"\n")
    process.stdin.flush()
    return process


@pytest.mark.slow
def test_a_cell_ends_with_its_night(home: Path) -> None:
    """As the pipe to its stdin closes, however the other end died."""
    endless = NightlyCell("mlp", "train", {"device": "cpu", "model": "mlp:width=8", "epochs": 100_000})
    with start_cell(endless) as process:
        wait_for_a_run(home)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 130
    with Store.open() as store:
        store.sweep(grace=timedelta(0))
    assert [run.status for run in recorded_runs(home)] == ["interrupted"]


def wait_for_a_run(home: Path) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if (home / "normbench.db").exists() and recorded_runs(home):
            return
        time.sleep(0.1)
    pytest.fail("no run was begun")
