"""normbench eval: the scores of a recorded checkpoint, clean and attacked, recorded with the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import RunCommand, train


@pytest.fixture
def run(normbench: RunCommand, fill_once: Callable[..., Any]) -> Any:
    def make() -> dict[str, Any]:
        (run,) = train(normbench, "--norm", "batchnorm")
        return run

    return fill_once(make)


def test_eval_reproduces_the_scores_of_training(normbench: RunCommand, run: dict[str, Any]) -> None:
    (again,) = json.loads(normbench("eval", run["id"][:6], "--json").out)["runs"]
    assert again["metrics"]["test/accuracy"] == run["metrics"]["test/accuracy"]
    assert again["metrics"]["test/loss"] == pytest.approx(run["metrics"]["test/loss"], abs=1e-12)


def test_scores_under_attack_are_recorded(normbench: RunCommand, run: dict[str, Any]) -> None:
    words = ["eval", run["id"], "--attack", "gaussian", "--attack", "bim:eps=0/0.1,steps=2"]
    metrics = json.loads(normbench(*words, "--json").out)["runs"][0]["metrics"]
    assert metrics["test/accuracy@bim:eps=0,steps=2"] == metrics["test/accuracy"]
    lost = metrics["test/accuracy"] - metrics["test/accuracy@gaussian"]
    assert metrics["test/accuracy_drop@gaussian"] == pytest.approx(lost)
    (recorded,) = json.loads(normbench("runs", "show", run["id"], "--json").out)["runs"]
    assert metrics.items() <= recorded["metrics"].items()


def test_the_table_has_the_scores_of_every_attack(normbench: RunCommand, run: dict[str, Any]) -> None:
    head, row = normbench("eval", run["id"], "--attack", "gaussian").out.splitlines()
    assert head.split()[:3] == ["run", "norm", "act"]
    assert "gaussian lost" in head
    assert row.split()[0] == run["id"]


def test_an_unknown_attack_is_an_error_before_a_checkpoint_is_loaded(normbench: RunCommand) -> None:
    ended = normbench("eval", "1234", "--attack", "bimm")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'bim'" in ended.err
