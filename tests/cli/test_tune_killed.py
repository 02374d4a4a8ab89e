"""A tuning that is killed at any moment and started again comes to the same, to the last bit, and repeats nothing."""

from __future__ import annotations

import random
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from sqlalchemy import select

from normbench_cli.cli import _tuning
from normbench_cli.store import Store
from normbench_cli.store.schema import Metric, SeriesChunk
from tests.killing import (
    CAN_FORK,
    check_same,
    metric_row,
    recorded_runs,
    run_to_end,
    series_row,
    start,
    trap,
)

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")
assert _tuning  # imported here, so that forked processes need not load torch, Optuna and pandas again

SMALL = ["tune", "--json", "--data", "digits:size=8", "--model", "mlp:size=8,width=16", "--batch-size", "256"]
ONE = [*SMALL, "--norm", "batchnorm", "--epochs", "2", "--budget", "1", "--seeds", "0"]
SEVERAL = [*SMALL, "--norm", "batchnorm,augnorm", "--over", "lr=log:0.01..1", "--over", "augnorm:phi=1.2..1.8"]
SEVERAL += ["--epochs", "2", "--budget", "2", "--seeds", "0", "--set", "checkpoint_minutes=0"]  # after every step
GRAPHS = ["tune", "--json", "--data", "toy_graphs", "--model", "gcn:hidden=4", "--epochs", "2", "--set", "folds=3"]
GRAPHS += ["--budget", "2", "--seeds", "0"]
MOMENTS = [("step", 9), ("after commit", 29), ("checkpoint saved", 7), ("ending", 2)]


def outcome(home: Path) -> dict[str, Any]:
    """All that a tuning has left in a home, without ids, times and memory."""
    runs = recorded_runs(home)
    fingerprints = {run.id: run.fingerprint for run in runs}
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        metrics, chunks = list(session.scalars(select(Metric))), list(session.scalars(select(SeriesChunk)))
    (tuning,) = [run for run in runs if run.kind == "tune"]
    weights = {
        run.fingerprint: torch.load(files[-1], weights_only=True)["model"]
        for run in runs
        if (files := sorted((home / "runs" / run.id).glob("*")))
    }
    return {
        "runs": sorted((run.kind, run.fingerprint, run.status) for run in runs),
        "metrics": sorted((fingerprints[one.run_id], *row) for one in metrics if (row := metric_row(one))[-1]),
        "series": sorted((fingerprints[one.run_id], *series_row(one)) for one in chunks),
        "weights": dict(sorted(weights.items())),
        "tune": [contender(one) for one in tuning.details["tune"]],
    }


def contender(recorded: dict[str, Any]) -> dict[str, Any]:
    varying = ("seconds", "run")
    parts = {
        name: [{key: one[key] for key in one if key not in varying} for one in recorded[name]]
        for name in ("trials", "finals")
    }
    return recorded | parts


def killed_until_it_ends(home: Path, words: list[str], place: str, at: int) -> int:
    """Start a tuning again and again, which is killed a little later each time; how often it was."""
    kills = 0
    while (code := run_to_end(home, words, partial(trap, place, at * (1 + kills), {}))) != 0:
        assert code == -signal.SIGKILL
        kills += 1
        assert kills < 30
    return kills


def check_nothing_twice(home: Path, expected: dict[str, Any]) -> None:
    found = outcome(home)
    assert len({one[:2] for one in found["runs"]}) == len(found["runs"])
    check_same(found, expected)


@pytest.mark.slow
def test_killed_in_a_trial_and_started_again_it_comes_to_the_same(tmp_path: Path) -> None:
    assert run_to_end(tmp_path / "whole", ONE) == 0
    assert killed_until_it_ends(tmp_path / "killed", ONE, "step", 7) == 2
    check_nothing_twice(tmp_path / "killed", outcome(tmp_path / "whole"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What undisturbed tunings leave."""
    made = {}
    for name, words in (("images", SEVERAL), ("graphs", GRAPHS)):
        home = tmp_path_factory.mktemp(name)
        assert run_to_end(home, words) == 0
        made[name] = outcome(home)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("place", "at"), MOMENTS)
def test_killed_again_and_again(place: str, at: int, whole: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    assert killed_until_it_ends(tmp_path, SEVERAL, place, at) > 1
    check_nothing_twice(tmp_path, whole["images"])


@pytest.mark.slow
def test_a_tuning_on_folds_is_killed_again_and_again(whole: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    assert killed_until_it_ends(tmp_path, GRAPHS, "epoch of a fold", 5) > 1
    check_nothing_twice(tmp_path, whole["graphs"])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2))
def test_killed_by_the_clock(number: int, whole: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    process, begun = start(tmp_path, SEVERAL)
    assert begun.wait(60)
    time.sleep(random.Random(number).uniform(0, 2))
    process.kill()
    process.join()
    assert run_to_end(tmp_path, SEVERAL) == 0
    check_nothing_twice(tmp_path, whole["images"])
