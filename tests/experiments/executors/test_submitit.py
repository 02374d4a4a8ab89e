"""Jobs of submitit: processes of this machine, and jobs of commands that behave like those of SLURM."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.events import CellState, Event, Notice, ignore
from normbench_cli.experiments.executors.choice import Choice, PerRun, choose
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.experiments.executors.protocol import Failed
from normbench_cli.interrupts import Interrupted
from normbench_cli.store import Store
from tests.experiments.executors.pretend_slurm import make_slurm
from tests.experiments.executors.support import works
from tests.killing import recorded_runs

LONG = 600  # epochs, so that a run goes on when its launcher next looks how far it is

pytest.importorskip("submitit")
pytestmark = pytest.mark.slow


def submitit_choice(jobs: int = 2) -> Choice:
    choice = choose("submitit", jobs)
    assert choice is not None
    return choice


def test_cells_run_as_jobs_and_leave_no_files(home: Path) -> None:
    events: list[Event] = []
    with Store.open() as store:
        results = run_works(works(2), submitit_choice(), store, events.append)
    assert [result.status for result in results] == ["finished"] * 2
    assert [result.config.seed for result in results] == [0, 1]
    assert len(recorded_runs(home)) == 2
    assert any(isinstance(event, Notice) and "no SLURM" in event.text for event in events)
    assert not list((home / "submitit").iterdir())
    assert stat.S_IMODE((home / "submitit").stat().st_mode) == 0o700


def test_a_job_that_is_killed_is_submitted_again_and_goes_on(home: Path) -> None:
    killed: list[int] = []

    def kill(event: Event) -> None:
        if isinstance(event, CellState) and event.epoch and event.state == "running" and not killed:
            killed.append(recorded_runs(home)[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with Store.open() as store:
        (result,) = run_works(works(epochs=LONG), submitit_choice(), store, kill)
    assert killed
    assert result.status == "finished"
    assert [run.status for run in recorded_runs(home)] == ["finished"]


@pytest.mark.parametrize("with_slurm", [False, True])
def test_an_interrupt_cancels_the_jobs(home: Path, with_slurm: bool, request: pytest.FixtureRequest) -> None:
    if with_slurm:
        request.getfixturevalue("slurm")
    stopped: list[str] = []

    def interrupt(event: Event) -> None:
        if isinstance(event, CellState) and event.run_id and not stopped:
            stopped.append(event.run_id)
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    with Store.open() as store, pytest.raises(Interrupted):
        run_works(works(epochs=100_000), submitit_choice(1), store, interrupt)
    assert [run.status for run in recorded_runs(home)] == ["interrupted"]


def test_a_job_whose_error_has_no_text_fails_with_the_type_of_the_error(tmp_path: Path) -> None:
    from submitit.core.utils import FailedJobError, JobPaths

    from normbench_cli.experiments.executors.submitit import SubmititExecutor

    def fail() -> None:
        raise FailedJobError

    job: Any = SimpleNamespace(job_id="7", paths=JobPaths(tmp_path, "7"), result=fail)
    job.paths.result_pickle.touch()
    event = SubmititExecutor(Choice("submitit"), cluster="local")._event("a task", job)
    assert event == Failed("a task", "FailedJobError")


def test_slurm_allocates_whole_gpus() -> None:
    with Store.open() as store, pytest.raises(UsageError, match="SLURM allocates whole GPUs"):
        run_works(works(), Choice("submitit", per_run=PerRun(1.0, 0.5)), store, ignore)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that behave like SLURM's."""
    monkeypatch.setenv("PATH", f"{make_slurm(tmp_path / 'slurm')}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("slurm")
def test_an_array_of_slurm_whose_node_dies(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    events: list[Event] = []

    def kill(event: Event) -> None:
        events.append(event)
        if isinstance(event, CellState) and event.epoch and event.state == "running" and not killed:
            killed.append(recorded_runs(home)[0].pid)
            os.killpg(os.getpgid(killed[0]), signal.SIGKILL)

    monkeypatch.setattr("normbench_cli.experiments.executors.submitit.SLURM_POLL_SECONDS", 1.0)
    with Store.open() as store:
        results = run_works(works(2, epochs=LONG), submitit_choice(), store, kill)
    assert [result.status for result in results] == ["finished"] * 2
    assert sum(isinstance(event, CellState) and event.state == "lost" for event in events) == 1
    assert [run.status for run in recorded_runs(home)] == ["finished"] * 2
    assert not any(isinstance(event, Notice) and "no SLURM" in event.text for event in events)
