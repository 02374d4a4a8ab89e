"""What the store keeps of a run."""

from __future__ import annotations

import math
import multiprocessing
import os
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from sqlalchemy import func, select, update

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.queries import series
from normbench_cli.store.rows import now, pack, unpack
from normbench_cli.store.schema import Environment, Metric, Run, SeriesChunk


def count(store: Store, table: type[Any]) -> int:
    with store.reading() as session:
        return session.scalar(select(func.count()).select_from(table))


def test_a_run_from_beginning_to_end(store: Store) -> None:
    config = {"norm": "popnorm", "act": "sigmoid", "seed": 3, "tag": "t", "epochs": 2, "lr": 0.1}
    run_id = store.begin(config, "f" * 16, {"torch": "2.9"}, argv=["train", "--norm", "popnorm"])
    run = store.find(run_id)
    assert (run.status, run.norm, run.act, run.seed, run.tag) == ("running", "popnorm", "sigmoid", 3, "t")
    assert (run.config, run.argv) == (config, ["train", "--norm", "popnorm"])
    assert (run.host, run.pid) == (socket.gethostname(), os.getpid())
    assert run.environment.facts == {"torch": "2.9"}
    store.end(run_id, "failed", "no more memory")
    run = store.find(run_id)
    assert (run.status, run.message) == ("failed", "no more memory")
    assert timedelta(0) <= run.finished_at - run.started_at < timedelta(minutes=1)
    assert run.finished_at.utcoffset() == timedelta(0)


def test_an_unheard_of_state_is_a_fault_of_ours(store: Store, enter: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="done"):
        store.end(enter(), "done")


@pytest.mark.parametrize("value", [0.1, math.inf, -math.inf, math.nan, 1e-320, 1.7e308])
def test_values_come_back_as_they_were(store: Store, enter: Callable[..., Any], value: float) -> None:
    assert repr(store.latest_metrics(enter(metrics={"train/loss": value}))["train/loss"]) == repr(value)


def test_names_are_taken_apart_and_the_last_value_counts(store: Store, enter: Callable[..., Any]) -> None:
    run_id = enter(metrics={"test/accuracy@bim:eps=0.03,steps=20": 0.1, "test/accuracy": 0.9, "step_time_ms": 3})
    store.record(run_id, {"test/accuracy": 0.8}, epoch=None, step=7)
    assert store.latest_metrics(run_id) == {
        "test/accuracy@bim:eps=0.03,steps=20": 0.1,
        "step_time_ms": 3,
        "test/accuracy": 0.8,
    }
    with store.reading() as session:
        rows = session.execute(
            select(Metric.split, Metric.name, Metric.condition, Metric.unit, Metric.step).order_by(Metric.id)
        ).all()
    assert rows[0] == ("test", "accuracy", "bim:eps=0.03,steps=20", "fraction", None)
    assert rows[2][3] == "ms"
    assert rows[3] == ("test", "accuracy", "", "fraction", 7)


def test_equal_environments_are_kept_once(store: Store) -> None:
    for facts in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}):
        store.begin({}, "f", facts, argv=[])
    assert count(store, Environment) == 2


def test_a_run_goes_with_all_that_is_its_own(store: Store, enter: Callable[..., Any]) -> None:
    gone, kept = enter(metrics={"train/loss": 1}), enter(metrics={"train/loss": 2})
    store.record(gone, {}, step=1, series={"step_time_ms": [1.0]})
    store.delete([gone])
    assert (count(store, Run), count(store, Metric), count(store, SeriesChunk)) == (1, 1, 0)
    assert count(store, Environment) == 1
    store.delete([kept])
    assert count(store, Environment) == 0


def test_measurements_of_no_run_are_refused_in_one_line(store: Store) -> None:
    with pytest.raises(NormbenchError, match=r"refused a row.*runs list"):
        store.record("00000000", {"train/loss": 1.0})


def test_find_takes_the_beginning_of_an_id(store: Store, enter: Callable[..., Any]) -> None:
    run_id = enter()
    assert store.find(run_id[:4].upper()).id == run_id
    with store.writing() as session:
        session.execute(update(Run).values(id="abcd0000"))
    other = enter()
    with store.writing() as session:
        session.execute(update(Run).where(Run.id == other).values(id="abcd1111"))
    assert store.find("abcd1").id == "abcd1111"


@pytest.mark.parametrize("text", ["", "zz", "0%", "_", "../x", "ffffffffff"])
def test_no_run_is_found_by_what_is_no_id(store: Store, enter: Callable[..., Any], text: str) -> None:
    enter()
    with pytest.raises(NormbenchError, match="normbench runs list"):
        store.find(text)


def test_an_ambiguous_id_names_the_runs(store: Store, enter: Callable[..., Any]) -> None:
    ids = {enter() for _ in range(17)}  # of 17 ids two begin alike
    first = next(digit for digit in "0123456789abcdef" if sum(run_id[0] == digit for run_id in ids) > 1)
    with pytest.raises(NormbenchError, match=f"{first}[0-9a-f]{{7}}, {first}"):
        store.find(first)


def test_finished_gives_the_newest_result_of_each_fingerprint(store: Store, enter: Callable[..., Any]) -> None:
    enter(norm="a")
    newest, diverged = enter(norm="a"), enter("diverged", norm="b")
    for state in ("failed", "interrupted", "running"):
        enter(state, norm="c")
    asked = ["norm=a", "norm=b", "norm=c", *(f"other{i}" for i in range(2000))]
    assert store.finished(asked) == {"norm=a": newest, "norm=b": diverged}


@pytest.mark.parametrize(
    ("host", "pid", "started", "silent", "state"),
    [
        ("here", "ours", "ours", 7200, "running"),
        ("here", "ours", "before us", 10, "interrupted"),
        ("here", "nobody's", "ours", 10, "interrupted"),
        ("here", "nobody's", "ours", 1, "running"),
        ("elsewhere", "nobody's", "ours", 600, "running"),
        ("elsewhere", "nobody's", "ours", 7200, "interrupted"),
    ],
)
def test_a_run_whose_process_is_gone_is_interrupted(
    store: Store, enter: Callable[..., Any], host: str, pid: str, started: str, silent: int, state: str
) -> None:
    run_id, lost = enter("running"), 2**22 + 1  # more than any process id
    values = {
        "host": socket.gethostname() if host == "here" else host,
        "pid": os.getpid() if pid == "ours" else lost,
        "process_started": psutil.Process().create_time() - (0 if started == "ours" else 60),
        "heartbeat_at": now() - timedelta(seconds=silent),
    }
    with store.writing() as session:
        session.execute(update(Run).values(values))
    with Store.open(write=False, sweep=False):
        assert store.find(run_id).status == "running"
    with Store.open(write=False) as reader:
        assert reader.find(run_id).status == state
    if state == "interrupted":
        assert abs(store.find(run_id).finished_at - values["heartbeat_at"]) < timedelta(seconds=1)


def test_a_sign_of_life_is_for_running_runs(store: Store, enter: Callable[..., Any]) -> None:
    running, ended = enter("running"), enter("interrupted")
    before = {run_id: store.find(run_id).heartbeat_at for run_id in (running, ended)}
    store.record(running, {"train/loss": 1.0})
    store.record(ended, {"test/accuracy": 1.0})
    assert store.find(running).heartbeat_at > before[running]
    assert (store.find(ended).heartbeat_at, store.find(ended).status) == (before[ended], "interrupted")
    store.beat(running)


def test_series_are_put_together_from_stretches(store: Store, enter: Callable[..., Any]) -> None:
    run_id = enter("running")
    store.record(run_id, {}, epoch=1, step=2, series={"step_time_ms": [1.5, math.nan]})
    store.record(run_id, {}, epoch=2, step=4, series={"step_time_ms": np.array([1e300, -2]), "train/loss": [1]})
    store.record(run_id, {}, step=5, series={"step_time_ms": [9]})
    found = series(store, run_id, "step_time_ms")
    assert repr(found.to_dict()) == repr({0: 1.5, 1: math.nan, 2: math.inf, 3: -2.0, 4: 9.0})


def test_packed_numbers_are_little_endian_float32() -> None:
    size, data = pack([1.0, -2.5])
    assert (size, list(unpack(data))) == (2, [1.0, -2.5])
    import zlib

    assert zlib.decompress(data) == np.array([1.0, -2.5], dtype="<f4").tobytes()


def test_a_long_run_stays_small(store: Store, enter: Callable[..., Any]) -> None:
    run_id, random = enter("running"), np.random.default_rng(0)
    for epoch in range(1, 101):
        metrics = {
            "train/loss": 0.1,
            "train/accuracy": 0.2,
            "test/accuracy": 0.3,
            "step_time_ms": 4,
            "samples_per_s": 5,
        }
        samples = {"step_time_ms": random.random(100), "train/loss": random.random(100)}
        store.record(run_id, metrics, epoch=epoch, step=epoch * 100, series=samples)
    assert store.location.path.stat().st_size < 2_000_000


def write_a_run(location: str, records: int) -> None:
    with Store.open(location) as store:
        run_id = store.begin({"norm": "bn"}, "f", {"facts": "the same"}, argv=[])
        for epoch in range(records):
            store.record(run_id, {"train/loss": 1.0}, epoch=epoch)
        store.end(run_id, "finished")


def test_processes_make_and_write_one_database_at_the_same_time(tmp_path: Path) -> None:
    location = str(tmp_path / "new" / "shared.db")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_a_run, args=(location, 20)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with Store.open(location, write=False) as store:
        assert (count(store, Run), count(store, Metric), count(store, Environment)) == (3, 60, 1)


def test_a_locked_database_is_said(store: Store, enter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.store.location.BUSY_SECONDS", 0.1)
    with store.writing() as session:
        session.execute(update(Run).values(note="taking my time"))
        with pytest.raises(NormbenchError, match="being written by another program"):
            enter()
