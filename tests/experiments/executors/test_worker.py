"""A worker trains a cell once: what a worker before it has begun is continued, what it has finished is taken."""

from __future__ import annotations

import logging

import pytest
from sqlalchemy import select, update

from normbench_cli.experiments.executors import worker
from normbench_cli.experiments.executors.worker import run_task
from normbench_cli.experiments.result import RunResult
from normbench_cli.store import Store
from normbench_cli.store.schema import Run
from normbench_cli.store.tasks import run_of_task
from tests.experiments.executors.support import task_of


def rows() -> list[Run]:
    with Store.open(sweep=False) as store, store.reading() as session:
        return list(session.scalars(select(Run)))


def test_a_task_trains_its_cell_and_is_recorded_with_its_run() -> None:
    task = task_of()
    result = run_task(task).result
    (run,) = rows()
    assert (run.id, run.status, run.fingerprint) == (result.id, "finished", task.work.fingerprint)
    assert run.details["task"] == task.id
    assert run.argv == ["train", "--seeds", "0-2"]
    again = run_task(task).result  # it is done: nothing is run
    assert (again.id, again.metrics) == (result.id, result.metrics)
    assert len(rows()) == 1


@pytest.mark.parametrize(
    "status", ["running", *(pytest.param(name, marks=pytest.mark.slow) for name in ("interrupted", "failed"))]
)
def test_a_run_that_a_lost_worker_has_begun_is_continued(status: str) -> None:
    task, whole = task_of(), run_task(task_of(seeds=1)).result
    with Store.open() as store:
        store.labels["task"] = task.id
        begun = store.begin(task.work.config.to_dict(), task.work.fingerprint, {}, argv=[])
        if status != "running":
            store.end(begun, status)
    result = run_task(task).result
    assert (result.id, result.status) == (begun, "finished")
    assert result.metrics["test/loss"] == whole.metrics["test/loss"]
    assert [run.status for run in rows()] == ["finished", "finished"]


def test_the_run_of_another_task_is_left_alone() -> None:
    mine, theirs = task_of(), task_of()
    with Store.open() as store:
        store.labels["task"] = theirs.id
        begun = store.begin(theirs.work.config.to_dict(), theirs.work.fingerprint, {}, argv=[])
        assert run_of_task(store, mine.work.fingerprint, mine.id) is None
    assert run_task(mine).result.id != begun


def test_a_worker_that_is_still_alive_is_not_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "EXIT_SECONDS", 0.0)
    task = task_of()
    with Store.open() as store:
        store.labels["task"] = task.id
        begun = store.begin(task.work.config.to_dict(), task.work.fingerprint, {}, argv=[])
        with store.writing() as session:  # of the process that started this one
            import psutil

            parent = psutil.Process().parent()
            assert parent is not None
            session.execute(update(Run).values(pid=parent.pid, process_started=parent.create_time()))
    result = run_task(task).result
    assert (result.status, rows()[0].status) == ("failed", "running")
    assert f"run {begun} is running, in process" in result.message


def test_what_fails_is_an_outcome_and_what_is_said_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: object) -> RunResult:
        logging.getLogger("normbench_cli.store").warning("the disk is full")
        raise ValueError("no such thing")

    monkeypatch.setattr("normbench_cli.experiments.grid.train_cell", train)
    outcome = run_task(task_of())
    assert (outcome.result.status, outcome.result.message) == ("failed", "ValueError: no such thing")
    assert outcome.notices == ("the disk is full",)
