"""A process that is killed in the middle of an epoch: the others end, the run fails, and resumed it comes to the same
bits as one that nothing happened to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from normbench_cli.store import Store
from tests.killing import check_same, recorded_runs, traces

RUN = [
    *("train", "--model", "mlp:size=8,width=16", "--data", "digits:size=8", "--norm", "augnorm", "--sync-norm", "-q"),
    *("--batch-size", "205", "--epochs", "5", "--nproc", "3", "--set", "checkpoint_minutes=0"),
]
STEPS = 8  # of an epoch


def start(home: Path, *words: str) -> subprocess.Popen[str]:
    variables = {**os.environ, "NORMBENCH_HOME": str(home), "OMP_NUM_THREADS": "1", "NORMBENCH_COMPILE": "never"}
    return subprocess.Popen(
        [sys.executable, "-m", "normbench_cli", *words], env=variables, stderr=subprocess.PIPE, text=True
    )


def run_to_end(home: Path, *words: str) -> None:
    command = start(home, *words)
    _, said = command.communicate(timeout=120)
    assert command.returncode == 0, said


def wait_for_a_step(home: Path) -> None:
    """Until the last checkpoint is one within an epoch."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        steps = sorted(int(path.stem.partition("-")[2]) for path in home.glob("runs/*/checkpoint-*.pt"))
        if steps and steps[-1] > STEPS and steps[-1] % STEPS:
            return
        time.sleep(0.002)
    raise AssertionError("no step was taken")


@pytest.mark.slow
def test_the_others_end_and_the_resumed_run_is_the_undisturbed_one(home: Path, tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed"
    run_to_end(undisturbed, *RUN)
    training = start(home, *RUN)
    wait_for_a_step(home)
    workers = psutil.Process(training.pid).children()
    assert len(workers) == 2
    workers[-1].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    _, said = training.communicate(timeout=60)
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert time.monotonic() - killed < 60
    assert not alive
    assert training.returncode == 1
    assert said.count("\n") == 1
    assert "process 2 of 3 was killed by signal 9" in said
    (run,) = recorded_runs(home)
    assert run.status == "failed"
    assert "process 2 of 3 was killed by signal 9" in (run.message or "")
    run_to_end(home, "train", "--resume", run.id, "-q")
    check_same(traces(home), traces(undisturbed))
    with Store.open(str(home / "normbench.db")) as store:
        assert store.find(run.id).config["nproc"] == 3
