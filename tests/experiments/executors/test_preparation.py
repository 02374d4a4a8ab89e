"""What a worker does before its first task is there."""

from __future__ import annotations

import time

import psutil
import pytest

from normbench_cli import build
from normbench_cli.config import RunConfig, make_config
from normbench_cli.experiments.executors.choice import Choice, PerRun, open_executor
from normbench_cli.experiments.executors.preparation import Preparation
from normbench_cli.experiments.executors.worker_environment import current_worker_environment
from tests.experiments.executors.support import TINY, works


@pytest.mark.parametrize("batch_size", [256, 5000])
def test_the_cell_is_checked_and_what_is_wrong_with_it_is_left_to_the_launcher(
    batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[RunConfig] = []
    real = build.check

    def check(config: RunConfig) -> None:
        checked.append(config)
        real(config)

    monkeypatch.setattr(build, "check", check)
    config = make_config({**TINY, "batch_size": batch_size})
    Preparation(config, current_worker_environment()).prepare()
    assert checked == [config]


def test_processes_start_with_the_executor_and_end_with_it() -> None:
    before = psutil.Process().children()
    with open_executor(Choice("local", 2, PerRun(cpus=1.0)), works(3)):
        deadline = time.monotonic() + 60
        while len(workers := [child for child in psutil.Process().children() if child not in before]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert [worker for worker in workers if worker.is_running()] == []
