"""Several launchers with workers share a grid: each cell is executed once, and what one leaves by another."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from sqlalchemy import select

from normbench_cli.experiments import sharing
from normbench_cli.experiments.events import CellState, Event, Notice
from normbench_cli.experiments.executors import launch
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.experiments.executors.protocol import Task, Work
from normbench_cli.experiments.executors.worker import run_task
from normbench_cli.store import Store
from normbench_cli.store.schema import Run
from tests.experiments.executors.support import Here, task_of, works
from tests.killing import CAN_FORK, start

LOCAL = Choice("local")
CELLS = 40
GRID = ["--norm", "batchnorm,none", "--seeds", f"0-{CELLS // 2 - 1}", "--data", "digits:size=8", "--model", "mlp"]
GRID += ["--iterations", "5", "--batch-size", "64", "--executor", "local", "--jobs", "1", "--per-run", "cpus=1"]


def recorded() -> list[Run]:
    with Store.open(sweep=False) as store, store.reading() as session:
        return list(session.scalars(select(Run)))


def begun_elsewhere(store: Store, work: Work) -> str:
    return store.begin(work.config.to_dict(), work.fingerprint, {}, argv=[])


@pytest.mark.parametrize(
    "status", ["interrupted", *(pytest.param(name, marks=pytest.mark.slow) for name in ("diverged", "failed"))]
)
def test_a_cell_that_another_executes_is_waited_for_and_executed_if_it_is_left(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "SECONDS_BETWEEN_POLLS", 0.0)
    monkeypatch.setattr(launch, "open_executor", lambda choice, works: closing(Here()))
    cells, events = works(2), list[Event]()
    with Store.open() as store:
        other = begun_elsewhere(store, cells[0])
        sleeps = iter([lambda: store.end(other, status)])
        clock = SimpleNamespace(sleep=lambda _: next(sleeps, partial(pytest.fail, "it waits for ever"))())
        monkeypatch.setattr(launch, "time", clock)
        taken, own = run_works(cells, LOCAL, store, events.append)
        left = status == "interrupted"
        assert (taken.status, taken.elsewhere) == (("finished", False) if left else (status, True))
        assert (taken.id == other) == (not left)
        assert (own.status, own.elsewhere) == ("finished", False)
        assert store.count() == 2 + left
    ends = [event.state for event in events if isinstance(event, CellState) and event.number == 0]
    assert ends[-1] == taken.status
    assert [event.text for event in events if isinstance(event, Notice)][1:] == [
        "waiting for 1 cell that other processes execute"
    ]


def test_a_worker_does_not_begin_what_another_process_has() -> None:
    task = grid_task()
    with Store.open() as store:
        begun_elsewhere(store, task.work)
        result = run_task(task).result
        assert (result.status, result.elsewhere, result.id) == ("running", True, "")
        assert result.fingerprint == task.work.fingerprint
        assert store.count() == 1


def test_a_worker_does_not_continue_what_another_process_has_taken_over() -> None:
    """Its first worker was lost, another launcher noticed, and executes the cell anew."""
    task = grid_task()
    with Store.open() as store:
        store.labels["task"] = task.id
        store.end(begun_elsewhere(store, task.work), "interrupted")
        store.labels.clear()
        other = begun_elsewhere(store, task.work)
        result = run_task(task).result
        assert (result.status, result.elsewhere) == ("running", True)
        store.end(other, "interrupted")
    assert run_task(task).result.status == "finished"


def test_a_run_that_is_continued_belongs_to_its_new_task_alone() -> None:
    task = grid_task()
    with Store.open() as store:
        store.labels["task"] = task.id
        run_id = begun_elsewhere(store, task.work)
        store.end(run_id, "interrupted")
        store.labels.clear()
        store.reopen(run_id, 0)
    (run,) = recorded()
    assert "task" not in run.details


def grid_task() -> Task:
    """Of one cell of a grid."""
    task, (work, _) = task_of(), works(2)
    return replace(task, work=work)


@pytest.mark.slow
@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.parametrize(("kind", "killed"), [("sqlite", False), ("postgresql", True)], ids=str)
def test_two_launchers_with_workers_execute_each_cell_once(
    kind: str, killed: bool, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: str = request.getfixturevalue("postgres_database") if kind == "postgresql" else str(tmp_path / "shared.db")
    monkeypatch.setenv("NORMBENCH_DB", place)
    Store.open().close()
    launchers = [start(tmp_path / f"home{number}", ["train", *GRID])[0] for number in range(2)]
    if killed:
        wait_for_runs_of_workers(launchers[0].pid, 8)
        os.kill(launchers[0].pid or 0, signal.SIGKILL)
    for launcher in launchers:
        launcher.join()
    assert [launcher.exitcode for launcher in launchers] == [-signal.SIGKILL if killed else 0, 0]
    runs = recorded()
    finished = [run for run in runs if run.status == "finished"]
    assert set(Counter(run.fingerprint for run in finished).values()) == {1}
    assert len(finished) == CELLS
    assert {run.status for run in runs} <= {"finished", *(["interrupted"] if killed else [])}
    makers = Counter(run.details["task"].partition("-")[0] for run in finished)
    assert len(makers) == 2
    assert min(makers.values()) >= (8 if killed else 4)


def wait_for_runs_of_workers(launcher: int | None, count: int) -> None:
    for _ in range(1200):
        workers = {child.pid for child in psutil.Process(launcher).children(recursive=True)}
        if sum(run.pid in workers and run.status == "finished" for run in recorded()) >= count:
            return
        time.sleep(0.05)
    pytest.fail("the launcher has not begun")
