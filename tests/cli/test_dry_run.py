"""train --dry-run: prints what would be trained and an estimate of the cost, and records nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.experiments import dry_run as module
from tests.support import RunCommand

FEW = ("--epochs", "2", "--set", "batch_size=64", "--data", "digits:size=8", "--device", "cpu")


def dry_run(normbench: RunCommand, *words: str) -> list[dict[str, Any]]:
    ended = normbench("train", "--dry-run", "--json", *FEW, *words)
    assert (ended.code, ended.err) == (0, "")
    runs: list[dict[str, Any]] = json.loads(ended.out)["runs"]
    return runs


def test_it_prints_steps_time_and_memory_and_records_nothing(normbench: RunCommand, home: Path) -> None:
    (run,) = dry_run(normbench, "--norm", "batchnorm:placement=before", "--model", "resnet20:option=B")
    assert run["config"]["compile"] is False
    assert run["config"]["channels_last"] is True
    assert run["steps"] == 2 * 23  # of 1,437 images
    assert run["estimate"]["seconds"] > 0
    assert run["estimate"]["memory_bytes"] > 2**20
    assert not (home / "normbench.db").exists()
    assert not (home / "runs").exists()


@pytest.fixture
def not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step is taken, for what is known without one."""
    monkeypatch.setattr(module, "estimate_steps", lambda config: module.Estimate(0, 0.0, 0))


@pytest.mark.usefixtures("not_timed")
@pytest.mark.parametrize(
    ("norm", "first", "layers"),
    [
        ("none", None, 0),
        ("batchnorm", ("stem.1", "batchnorm", "after", "stem.0"), 19),
        ("popnorm", ("stem.0", "popnorm", "before", "stem.1"), 20),
        ("weightnorm", ("stem.0", "weightnorm", "weight", "stem.0"), 20),
        ("ws+gn", ("stem.0", "weightstandardization", "weight", "stem.0"), 38),
    ],
)
def test_norm_layers_are_named_with_the_operation_they_belong_to(
    normbench: RunCommand, norm: str, first: tuple[str, ...] | None, layers: int
) -> None:
    (run,) = dry_run(normbench, "--norm", norm)
    assert len(run["norm_layers"]) == layers
    if first:
        assert tuple(run["norm_layers"][0].values())[:4] == first


@pytest.mark.usefixtures("not_timed")
def test_it_counts_the_parameters_of_the_model(normbench: RunCommand) -> None:
    (run,) = dry_run(normbench, "--norm", "batchnorm")
    assert run["parameters"] == 269_722 - 2 * 9 * 16  # one gray channel instead of three colors


def test_a_grid_has_a_table_of_costs(normbench: RunCommand) -> None:
    ended = normbench("train", "--dry-run", *FEW, "--norm", "batchnorm,popnorm", "--model", "mlp:width=8")
    assert ended.code == 0
    assert "popnorm" in ended.out
    assert "Nothing was trained or recorded" in ended.out


def test_resume_and_dry_run_do_not_go_together(normbench: RunCommand) -> None:
    ended = normbench("train", "--dry-run", "--resume", "1234")
    assert ended.code == 2
    assert (
        "--resume continues a run with the run's own configuration, but --dry-run is given; drop that option"
        in ended.err
    )


@pytest.mark.benchmark
def test_the_estimate_is_near_what_training_takes(normbench: RunCommand) -> None:
    words = ("--model", "resnet20", "--norm", "batchnorm")
    (run,) = dry_run(normbench, *words)
    (trained,) = json.loads(normbench("train", "--json", *FEW, *words).out)["runs"]
    took = trained["metrics"]["step_time_ms"] * run["steps"] / 1e3
    assert took / 2 < run["estimate"]["seconds"] < took * 5  # evaluation comes on top of the steps
