"""Runs whose process is gone are marked as interrupted, and no others."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta

import psutil
import pytest
from sqlalchemy import update

from normbench_cli.store import Store, processes
from normbench_cli.store.rows import now
from normbench_cli.store.schema import Run

NO_PROCESS = 2**22 + 1  # above any process id
pytestmark = pytest.mark.every_database


def set_process(store: Store, *, host: str, pid: int, started: float, silent: float) -> None:
    """Give all runs a process, and a last heartbeat so many seconds ago."""
    heartbeat = now() - timedelta(seconds=silent)
    values = {"host": host, "pid": pid, "process_started": started, "heartbeat_at": heartbeat}
    with store.writing() as session:
        session.execute(update(Run).values(values))


@pytest.mark.parametrize(
    ("host", "pid", "age", "silent", "status"),
    [
        ("here", "ours", 0, 7200, "running"),
        ("here", "ours", 60, 10, "interrupted"),  # a process with this id exists, but it began later
        ("here", "none", 0, 10, "interrupted"),
        ("here", "none", 0, 1, "running"),
        ("elsewhere", "none", 0, 600, "running"),
        ("elsewhere", "none", 0, 7200, "interrupted"),
    ],
)
def test_a_run_whose_process_is_gone_becomes_interrupted(
    store: Store,
    enter: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    pid: str,
    age: float,
    silent: int,
    status: str,
) -> None:
    monkeypatch.setattr(processes, "since_boot", lambda: timedelta(days=1))
    run_id = enter("running")
    set_process(
        store,
        host=socket.gethostname() if host == "here" else host,
        pid=os.getpid() if pid == "ours" else NO_PROCESS,
        started=psutil.Process().create_time() - age,
        silent=silent,
    )
    before = store.find(run_id)
    with Store.open(write=False, sweep=False):
        assert store.find(run_id).status == "running"
    with Store.open(write=False):
        after = store.find(run_id)
    assert after.status == status
    assert after.heartbeat_at == before.heartbeat_at
    if status == "interrupted":
        assert (after.finished_at, after.message) == (before.heartbeat_at, "its process disappeared")


@pytest.fixture
def dead(store: Store, enter: Callable[..., str]) -> str:
    run_id = enter("running")
    set_process(store, host=socket.gethostname(), pid=NO_PROCESS, started=0, silent=60)
    return run_id


def resume(store: Store, run_id: str) -> None:
    store.end(run_id, "interrupted")
    store.reopen(run_id, 1)


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [
        (lambda store, run_id: None, "interrupted"),
        (resume, "running"),
        (lambda store, run_id: store.heartbeat(run_id), "running"),
        (lambda store, run_id: store.end(run_id, "finished"), "finished"),
    ],
    ids=["nothing", "resumed", "alive after all", "finished"],
)
def test_a_run_that_changed_since_it_was_found_dead_is_left_alone(
    store: Store, dead: str, meanwhile: Callable[[Store, str], object], status: str
) -> None:
    """Between the look at the processes and the change of status another process may have resumed the run."""
    found = store.dead_runs()
    assert [run.id for run in found] == [dead]
    meanwhile(store, dead)
    store.mark_interrupted(found)
    assert store.find(dead).status == status


def test_a_run_is_left_alone_for_the_grace_time(store: Store, dead: str) -> None:
    store.sweep(grace=timedelta(hours=1))
    assert store.find(dead).status == "running"
    store.sweep(grace=timedelta(0))
    assert store.find(dead).status == "interrupted"
