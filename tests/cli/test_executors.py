"""Commands with --executor: what they print, and their exit codes.  The tasks are run in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from normbench_cli.experiments.executors import local
from normbench_cli.experiments.executors.protocol import Task
from tests.experiments.executors.support import Here
from tests.support import TINY, RunCommand, train

LOCAL = ["--executor", "local"]


@pytest.fixture(autouse=True)
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """In place of processes.  It loses the first worker of seed 1."""

    def loses(task: Task, attempt: int) -> bool:
        return task.work.config.seed == 1 and attempt == 1

    monkeypatch.setenv("NORMBENCH_DATA", str(home / "data"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    executor = Here(loses)
    monkeypatch.setattr(local, "make_executor", lambda choice, works: executor)
    return executor


def test_a_grid_is_trained_by_workers_and_is_finished_for_the_next_command(normbench: RunCommand, here: Here) -> None:
    grid = ["--norm", "none", "--model", "mlp:size=8,width=8", "--seeds", "0-1"]
    ended = normbench("train", *TINY[:-1], *grid, *LOCAL)
    assert ended.code == 0, ended.err
    assert "2 new, 0 already finished" in ended.out
    assert "seed 1: its worker is lost and another takes over (the power went)" in ended.err
    assert "1/2 none relu seed 0: finished, accuracy " in ended.err
    assert len(here.attempts) == 3
    assert train(normbench, *grid) == []


def test_what_cannot_work_is_an_error_before_anything_is_recorded_or_runs(
    normbench: RunCommand, here: Here, home: Path
) -> None:
    ended = normbench("train", *TINY[:-1], "--batch-size", "5000", "--seeds", "0-1", *LOCAL)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert "batch_size is 5000" in ended.err
    assert (here.attempts, here.closed) == ([], True)
    assert not (home / "normbench.db").exists()


def test_some_failed_cells_are_exit_code_5_and_json_is_alone(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*TINY[:-1], "--model", "mlp:size=8,width=8", "--seeds", "0,2", *LOCAL, "--json"]
    real = Here.poll

    def poll(self: Here, seconds: float) -> object:
        if self._waiting[0].work.config.seed == 2:
            self._loses = lambda task, attempt: True
        return real(self, seconds)

    monkeypatch.setattr(Here, "poll", poll)
    ended = normbench("train", *words)
    assert ended.code == 5
    assert ended.err == ""
    statuses = {run["config"]["seed"]: run["status"] for run in json.loads(ended.out)["runs"]}
    assert statuses == {0: "finished", 2: "failed"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "--jobs", "2"], "add --executor local"),
        (["train", "--resume", "12345678", *LOCAL], "--executor local is given"),
        (["reproduce", "augnorm-graph/table2", "--executor", "rey"], "did you mean 'ray'"),
        (["nightly", *LOCAL, "--per-run", "cpus=2"], "a night on this machine measures one cell after the other"),
        (["nightly", "--address", "a:1"], "add --executor ray"),
        (["nightly", "--nproc", "2", *LOCAL], "--executor local gives a run to one process"),
        (["nightly", "--sync-norm"], "cell mlp/batchnorm: sync_norm is on, and one process trains"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(normbench: RunCommand, words: list[str], says: str) -> None:
    ended = normbench(*words)
    assert (ended.code, says in ended.err) == (2, True), ended.err


@pytest.mark.slow
def test_a_suite_is_reproduced_by_workers(normbench: RunCommand, here: Here) -> None:
    words = ["reproduce", "augnorm-graph/table2", "--scale", "smoke", "--seeds", "1", "-q"]
    ended = normbench(*words, *LOCAL)
    assert ended.code == 0, ended.err
    assert here.attempts
    asked = len(here.attempts)
    assert normbench(*words, *LOCAL).code == 0
    assert len(here.attempts) == asked  # all is recorded
