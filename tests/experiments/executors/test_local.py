"""Processes of this machine: how it is divided; the same numbers as here; a process that is killed; an interrupt."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.events import CellState, Event, Notice, ignore
from normbench_cli.experiments.executors import local, local_process
from normbench_cli.experiments.executors.choice import Choice, PerRun
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.experiments.executors.local import shares_of
from normbench_cli.experiments.executors.worker import run_task
from normbench_cli.interrupts import Interrupted
from normbench_cli.store import Store
from tests.experiments.executors.support import task_of, works
from tests.killing import recorded_runs

ONE_THREAD = PerRun(cpus=1.0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """A machine with so many cores and GPUs."""

    def make(cores: int, gpus: int) -> None:
        monkeypatch.setattr(local, "usable_cores", lambda: cores)
        monkeypatch.setattr(local, "accelerator_shares", lambda device: [{"GPU": str(n)} for n in range(gpus)])

    return make


@pytest.mark.parametrize(
    ("cores", "gpus", "choice", "processes", "threads"),
    [
        (8, 0, Choice("local"), 8, 1),
        (8, 0, Choice("local", jobs=2), 2, 4),
        (8, 0, Choice("local", per_run=PerRun(cpus=4)), 2, 4),
        (8, 0, Choice("local", jobs=3, per_run=PerRun(cpus=4)), 3, 4),
        (2, 0, Choice("local", per_run=PerRun(cpus=4)), 1, 4),
        (8, 2, Choice("local"), 2, 4),
        (8, 2, Choice("local", per_run=PerRun(gpus=0.5)), 4, 2),
    ],
)
def test_the_machine_is_divided(
    machine: Callable[[int, int], None], cores: int, gpus: int, choice: Choice, processes: int, threads: int
) -> None:
    machine(cores, gpus)
    shares = shares_of(choice, "auto", cells=20)
    assert [share["OMP_NUM_THREADS"] for share in shares] == [str(threads)] * processes
    assert [share.get("GPU") for share in shares] == [str(n % gpus) if gpus else None for n in range(processes)]
    assert len(shares_of(choice, "auto", cells=1)) == 1


def test_a_run_computes_on_one_gpu(machine: Callable[[int, int], None]) -> None:
    machine(8, 2)
    with pytest.raises(UsageError, match="a run computes on one GPU"):
        shares_of(Choice("local", per_run=PerRun(gpus=2)), "auto", 1)


def test_a_process_that_cannot_be_started_fails_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "nowhere/python")
    with Store.open() as store:
        results = run_works(works(3), Choice("local", 2, ONE_THREAD), store, ignore)
    assert [result.status for result in results] == ["failed"] * 3
    assert all("FileNotFoundError" in result.message for result in results)


def test_an_answer_that_cannot_be_read_fails_its_cell_and_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here = psutil.Process()
    before = set(here.children())
    monkeypatch.setattr(local_process, "read_frame", lambda stream: b"cmissing\nname\n.")
    with Store.open() as store:
        (result,) = run_works(works(), Choice("local", 1, ONE_THREAD), store, ignore)
    assert (result.status, result.message) == ("failed", "ModuleNotFoundError: No module named 'missing'")
    assert set(here.children()) <= before


@pytest.mark.slow
def test_processes_measure_the_same_as_this_one() -> None:
    cells = works(4, norm="augnorm")
    here = [run_task(task_of(norm="augnorm")).result]
    with Store.open() as store:
        there = run_works(cells, Choice("local", 2, ONE_THREAD), store, ignore)
    assert [result.status for result in there] == ["finished"] * 4
    assert there[0].metrics["train/loss"] == here[0].metrics["train/loss"]
    assert len({result.metrics["train/loss"] for result in there}) == 4


@pytest.mark.slow
def test_a_killed_process_is_replaced_and_its_run_goes_on_from_its_checkpoint(home: Path) -> None:
    """Killed once a checkpoint is there; in the end the numbers are those of an undisturbed run."""
    killed: list[int] = []
    events: list[Event] = []

    def kill(event: Event) -> None:
        events.append(event)
        if isinstance(event, CellState) and event.run_id and event.epoch and not killed:
            (run,) = recorded_runs(home)
            os.kill(run.pid, signal.SIGKILL)
            killed.append(event.epoch)

    with Store.open() as store:
        (result,) = run_works(works(epochs=300), Choice("local", 1, ONE_THREAD), store, kill)
    lost = [event.message for event in events if isinstance(event, CellState) and event.state == "lost"]
    assert len(lost) == 1
    assert "killed by signal 9" in lost[0]
    assert any("continues after step" in event.text for event in events if isinstance(event, Notice))
    assert result.status == "finished"
    assert [run.status for run in recorded_runs(home)] == ["finished"]


@pytest.mark.slow
def test_an_interrupt_leaves_finished_cells_and_interrupted_runs_and_no_process(home: Path) -> None:
    seen: set[str] = set()

    def interrupt(event: Event) -> None:
        """Once a cell is finished and a run of another goes on."""
        if not isinstance(event, CellState) or {"finished", "begun"} <= seen:
            return
        seen.add("begun" if event.state == "running" and event.run_id and event.number else event.state)
        if {"finished", "begun"} <= seen:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    cells = [*works(epochs=1), *works(2, epochs=100_000)]
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with Store.open() as store, pytest.raises(Interrupted, match="interrupted; 1 of 3 cells have ended"):
        run_works(cells, Choice("local", 2, ONE_THREAD), store, interrupt)
    statuses = sorted(run.status for run in recorded_runs(home))
    assert statuses[0] == "finished"
    assert set(statuses[1:]) <= {"interrupted"}
    assert len(statuses) > 1
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


@pytest.mark.slow
def test_workers_end_with_their_launcher(home: Path) -> None:
    """The launcher is killed: nobody tells its workers."""
    import multiprocessing

    def launch() -> None:
        with Store.open() as store:
            run_works(works(epochs=100_000), Choice("local", 1, ONE_THREAD), store, ignore)

    process = multiprocessing.get_context("fork").Process(target=launch)
    process.start()
    deadline = time.monotonic() + 600
    while not (home / "normbench.db").exists() or not [run for run in recorded_runs(home) if run.status == "running"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    worker = psutil.Process(recorded_runs(home)[0].pid)
    process.kill()
    process.join()
    worker.wait(timeout=60)
    with Store.open() as store:
        store.sweep(grace=timedelta(0))
    (run,) = recorded_runs(home)
    assert (run.status, run.message) == ("interrupted", "its process disappeared")
