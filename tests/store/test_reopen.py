"""A run that is resumed keeps what it measured up to a step, and loses the rest."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy import select, update

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.queries import series
from normbench_cli.store.schema import Metric, Run

Enter = Callable[..., str]
pytestmark = pytest.mark.every_database


@pytest.fixture
def ended(store: Store, enter: Enter) -> str:
    """A run that was interrupted after two epochs of two steps; also a value measured before the first step."""
    run_id = enter("running")
    store.record(run_id, {"at": 0}, step=0)
    for epoch in (1, 2):
        loss = {"train/loss": [1.0, 2.0]}
        store.record(
            run_id, {"at": epoch, "of@fold1/3": epoch, "of@last": epoch}, epoch=epoch, step=2 * epoch, series=loss
        )
    store.end(run_id, "interrupted", "stopped")
    return run_id


def kept(store: Store, run_id: str, name: str) -> list[float]:
    query = select(Metric.value).where(Metric.run_id == run_id, Metric.name == name).order_by(Metric.id)
    with store.reading() as session:
        return list(session.scalars(query))


@pytest.mark.parametrize(
    ("step", "values", "steps"),
    [(4, [0, 1, 2], 4), (3, [0, 1], 2), (2, [0, 1], 2), (1, [0], 0), (0, [], 0)],
)
def test_measurements_after_the_step_are_deleted(
    store: Store, ended: str, step: int, values: list[float], steps: int
) -> None:
    other = store.begin({}, "f", {}, argv=[])
    store.record(other, {"at": 9}, step=9, series={"train/loss": [9.0]})
    store.reopen(ended, step)
    assert kept(store, ended, "at") == values
    assert len(series(store, ended, "train/loss")) == steps
    assert kept(store, other, "at") == [9]
    assert len(series(store, other, "train/loss")) == 1


def test_a_crossvalidation_keeps_single_folds_alone(store: Store, ended: str) -> None:
    store.reopen(ended, None)
    assert kept(store, ended, "at") == []
    assert kept(store, ended, "of") == [1, 2]  # those over all folds are measured again
    assert len(series(store, ended, "train/loss")) == 4


def test_a_reopened_run_is_running_in_this_process(store: Store, ended: str) -> None:
    with store.writing() as session:
        session.execute(update(Run).values(pid=1, host="elsewhere"))
    before = store.find(ended)
    store.reopen(ended, 4)
    run = store.find(ended)
    assert (run.status, run.message, run.finished_at, run.pid) == ("running", "", None, os.getpid())
    assert run.host != "elsewhere"
    assert run.heartbeat_at > before.heartbeat_at
    assert run.started_at == before.started_at


def test_a_run_that_is_running_is_not_reopened(store: Store, enter: Enter) -> None:
    run_id = enter("running", metrics={"at": 1})
    with pytest.raises(NormbenchError, match=f"already being resumed by process {os.getpid()}"):
        store.reopen(run_id, None)
    assert kept(store, run_id, "at") == [1]


def test_a_run_that_another_process_has_finished_is_not_reopened(store: Store, enter: Enter) -> None:
    run_id = enter("finished", metrics={"at": 1})
    with pytest.raises(Taken, match=f"run {run_id} is finished"):
        store.reopen(run_id, 0)
    assert (store.find(run_id).status, kept(store, run_id, "at")) == ("finished", [1])
    store.reopen(run_id, 0, finished=True)
    assert store.find(run_id).status == "running"
