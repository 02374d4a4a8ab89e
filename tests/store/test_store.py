"""What the store keeps of a run, and how runs are found."""

from __future__ import annotations

import math
import multiprocessing
import os
import socket
import zlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select, update

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.queries import series, series_names
from normbench_cli.store.rows import pack, unpack
from normbench_cli.store.schema import Base, Environment, Metric, Run, SeriesChunk
from tests.store.writers import write_a_run

Enter = Callable[..., str]
pytestmark = pytest.mark.every_database


def count(store: Store, table: type[Base]) -> int:
    with store.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_run_from_beginning_to_end(store: Store) -> None:
    config = {"norm": "popnorm", "act": "sigmoid", "seed": 3, "tag": "t", "epochs": 2, "lr": 0.1}
    run_id = store.begin(config, "f" * 16, {"torch": "2.9"}, argv=["train", "--norm", "popnorm"])
    run = store.find(run_id)
    assert (run.status, run.norm, run.act, run.seed, run.tag) == ("running", "popnorm", "sigmoid", 3, "t")
    assert (run.config, run.argv) == (config, ["train", "--norm", "popnorm"])
    assert (run.host, run.pid) == (socket.gethostname(), os.getpid())
    assert run.environment.facts == {"torch": "2.9"}
    assert run.finished_at is None
    store.end(run_id, "failed", "no more memory")
    run = store.find(run_id)
    assert (run.status, run.message) == ("failed", "no more memory")
    assert run.finished_at is not None
    assert timedelta(0) <= run.finished_at - run.started_at < timedelta(minutes=1)
    assert run.finished_at.utcoffset() == timedelta(0)


def test_an_unknown_status_is_a_programming_error(store: Store, enter: Enter) -> None:
    with pytest.raises(ValueError, match="done"):
        store.end(enter(), "done")


@pytest.mark.parametrize("value", [0.1, math.inf, -math.inf, math.nan, 1e-320, 1.7e308])
def test_values_are_read_as_they_were_recorded(store: Store, enter: Enter, value: float) -> None:
    assert repr(store.latest_metrics(enter(metrics={"train/loss": value}))["train/loss"]) == repr(value)


def test_names_are_split_into_columns_and_the_last_value_counts(store: Store, enter: Enter) -> None:
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


def test_equal_environments_share_a_row(store: Store) -> None:
    for facts in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}):
        store.begin({}, "f", facts, argv=[])
    assert count(store, Environment) == 2


def test_details_are_given_at_the_beginning_or_added_later(store: Store) -> None:
    first, second = (store.begin({}, "f", {}, argv=[], details={"data": {"classes": 10}}) for _ in range(2))
    store.add_details(first, {"remarks": ["a"], "diff": None})
    store.add_details(first, {"remarks": ["b"]})
    assert store.find(first).details == {"data": {"classes": 10}, "remarks": ["b"], "diff": None}
    assert store.find(second).details == {"data": {"classes": 10}}
    assert store.find(store.begin({}, "f", {}, argv=[])).details == {}


def test_deleting_a_run_deletes_all_that_is_its_own(store: Store, enter: Enter) -> None:
    gone, kept = enter(metrics={"train/loss": 1}), enter(metrics={"train/loss": 2})
    store.record(gone, {}, step=1, series={"step_time_ms": [1.0]})
    store.delete([gone])
    assert (count(store, Run), count(store, Metric), count(store, SeriesChunk)) == (1, 1, 0)
    assert count(store, Environment) == 1
    store.delete([kept])
    assert count(store, Environment) == 0


def test_measurements_of_a_missing_run_are_one_line_of_error(store: Store) -> None:
    with pytest.raises(NormbenchError, match=r"refused a row.*runs list"):
        store.record("00000000", {"train/loss": 1.0})


def test_only_running_runs_have_heartbeats(store: Store, enter: Enter) -> None:
    running, ended = enter("running"), enter("interrupted")
    before = {run_id: store.find(run_id).heartbeat_at for run_id in (running, ended)}
    store.record(running, {"train/loss": 1.0})
    store.record(ended, {"test/accuracy": 1.0})
    recorded = store.find(running).heartbeat_at
    assert recorded > before[running]
    assert (store.find(ended).heartbeat_at, store.find(ended).status) == (before[ended], "interrupted")
    store.heartbeat(running)
    assert store.find(running).heartbeat_at > recorded


def test_series_are_joined_from_chunks(store: Store, enter: Enter) -> None:
    run_id = enter("running")
    store.record(run_id, {}, epoch=1, step=2, series={"step_time_ms": [1.5, math.nan]})
    store.record(run_id, {}, epoch=2, step=4, series={"step_time_ms": np.array([1e300, -2]), "train/loss": [1]})
    store.record(run_id, {}, step=5, series={"step_time_ms": [9]})
    found = series(store, run_id, "step_time_ms")
    assert repr(found.to_dict()) == repr({0: 1.5, 1: math.nan, 2: math.inf, 3: -2.0, 4: 9.0})
    assert series_names(store, run_id) == ["step_time_ms", "train/loss"]


def test_packed_numbers_are_little_endian_float32() -> None:
    size, data = pack([1.0, -2.5])
    assert (size, list(unpack(data))) == (2, [1.0, -2.5])
    assert zlib.decompress(data) == np.array([1.0, -2.5], dtype="<f4").tobytes()


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, enter: Enter) -> None:
    run_id = enter()
    assert store.find(run_id[:4].upper()).id == run_id
    with store.writing() as session:
        session.execute(update(Run).values(id="abcd0000"))
    other = enter()
    with store.writing() as session:
        session.execute(update(Run).where(Run.id == other).values(id="abcd1111"))
    assert store.find("abcd1").id == "abcd1111"


@pytest.mark.parametrize("text", ["", "zz", "0%", "_", "../x", "ffffffffff"])
def test_text_that_is_no_id_finds_no_run(store: Store, enter: Enter, text: str) -> None:
    enter()
    with pytest.raises(NormbenchError, match="normbench runs list"):
        store.find(text)


def test_an_ambiguous_id_names_the_runs(store: Store, enter: Enter) -> None:
    ids = {enter() for _ in range(17)}  # of 17 ids two begin with the same digit
    first = next(digit for digit in "0123456789abcdef" if sum(run_id[0] == digit for run_id in ids) > 1)
    with pytest.raises(NormbenchError, match=f"{first}[0-9a-f]{{7}}, {first}"):
        store.find(first)


def test_of_each_fingerprint_the_newest_run_with_a_result_is_found(store: Store, enter: Enter) -> None:
    enter(norm="a")
    newest, diverged = enter(norm="a"), enter("diverged", norm="b")
    enter("failed", norm="a")
    enter("interrupted", norm="d")
    newest_failed = enter("failed", norm="d")
    asked = ["norm=a", "norm=b", "norm=d", *(f"other{i}" for i in range(2000))]
    assert store.newest_runs(asked) == {
        "norm=a": (newest, "finished"),
        "norm=b": (diverged, "diverged"),
        "norm=d": (newest_failed, "failed"),
    }


def test_processes_create_and_write_one_database_at_the_same_time(tmp_path: Path) -> None:
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
