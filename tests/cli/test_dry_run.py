"""train --dry-run: says what would be trained and what it would take, and leaves no trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import RunCommand

FEW = ("--epochs", "2", "--set", "batch_size=64", "--data", "digits:size=8", "--device", "cpu")


def foretold(normbench: RunCommand, *words: str) -> list[dict[str, Any]]:
    ended = normbench("train", "--dry-run", "--json", *FEW, *words)
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)["runs"]


def test_it_says_the_known_numbers_and_records_nothing(normbench: RunCommand, home: Path) -> None:
    (run,) = foretold(normbench, "--norm", "batchnorm:placement=before", "--model", "resnet20:option=B")
    assert run["config"]["compile"] is False
    assert run["config"]["channels_last"] is True
    assert run["steps"] == 2 * 23  # of 1,437 images
    assert run["estimate"]["seconds"] > 0
    assert run["estimate"]["memory_bytes"] > 2**20
    assert not (home / "normbench.db").exists()
    assert not (home / "runs").exists()


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
    (run,) = foretold(normbench, "--norm", norm)
    assert len(run["norm_layers"]) == layers
    if first:
        assert tuple(run["norm_layers"][0].values()) == first


def test_parameters_are_those_of_the_model(normbench: RunCommand) -> None:
    (run,) = foretold(normbench, "--norm", "batchnorm")
    assert run["parameters"] == 269_722 - 2 * 9 * 16  # a grey image instead of three colours


def test_a_grid_is_summed_up_for_people(normbench: RunCommand) -> None:
    ended = normbench("train", "--dry-run", *FEW, "--norm", "batchnorm,popnorm", "--model", "mlp:width=8")
    assert ended.code == 0
    assert "popnorm" in ended.out
    assert "Nothing was trained or recorded" in ended.out


def test_resume_and_dry_run_do_not_go_together(normbench: RunCommand) -> None:
    ended = normbench("train", "--dry-run", "--resume", "1234")
    assert ended.code == 2
    assert "--resume goes on with the run's own configuration, and dry_run is given too" in ended.err


def test_the_estimate_is_near_what_it_takes(normbench: RunCommand) -> None:
    words = ("--model", "resnet20", "--norm", "batchnorm")
    (run,) = foretold(normbench, *words)
    (trained,) = json.loads(normbench("train", "--json", *FEW, *words).out)["runs"]
    took = trained["metrics"]["step_time_ms"] * run["steps"] / 1e3
    assert took / 5 < run["estimate"]["seconds"] < took * 20  # a busy machine, and evaluation besides
