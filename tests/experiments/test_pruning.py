"""Pruning as a condition of a score: how it is written, what is refused, and what is recorded with a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import normbench_cli as nb
from normbench_cli.config import RunConfig
from normbench_cli.errors import UsageError
from normbench_cli.experiments.jobs import attacks_of
from normbench_cli.experiments.pruning import CRITERIA, SHARES, Pruning, check_prunings, parse_prunings, pruning_of
from normbench_cli.experiments.result import RunResult


@given(st.sampled_from(CRITERIA), st.floats(0, 1).map(lambda keep: round(keep, 4)), st.integers(0, 9))
def test_a_condition_says_which_pruning_it_is(by: str, keep: float, draw: int) -> None:
    pruning = Pruning(by, keep, draw if by == "random" else 0)  # type: ignore[arg-type]
    assert pruning_of(str(pruning)) == pruning
    assert attacks_of(f"test/accuracy@{pruning}") == (str(pruning),)


def test_several_shares_and_criteria_each_once() -> None:
    found = parse_prunings(["gamma:keep=0.5/1", "alive,gamma:keep=0.5"])
    assert list(map(str, found[:2])) == ["prune:by=gamma,keep=0.5", "prune:by=gamma,keep=1"]
    assert [pruning.keep for pruning in found if pruning.by == "alive"] == [float(text) for text in SHARES.split("/")]
    assert len(found) == 2 + 9
    assert pruning_of("bim:eps=0.1") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gama", "did you mean 'gamma'"),
        ("gamma:kep=0.5", "did you mean 'keep'"),
        ("gamma:draw=1", "pruning by gamma has no 'draw'"),
        ("gamma:keep=1.5", "keep is 1.5; give 0 to 1"),
        ("gamma:keep=nan", "keep is nan"),
        ("gamma:keep=half", "keep=half is not a number"),
        ("random:draw=-1", "draw is -1"),
    ],
)
def test_a_mistake_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_prunings([text])


def test_the_scores_of_a_trained_network(trained: list[RunResult]) -> None:
    found = nb.evaluate(trained[0], prunings=["gamma:keep=1/0.5/0,random:keep=0.5", "random:keep=0.5,draw=1"]).metrics
    assert found["test/loss@prune:by=gamma,keep=1"] == found["test/loss"]
    assert found["test/accuracy_drop@prune:by=gamma,keep=1"] == 0
    # one answer to all 360 images, of which each class has 35 to 37
    assert found["test/accuracy@prune:by=gamma,keep=0"] == pytest.approx(0.1, abs=0.005)
    lost = found["test/accuracy"] - found["test/accuracy@prune:by=gamma,keep=0.5"]
    assert found["test/accuracy_drop@prune:by=gamma,keep=0.5"] == pytest.approx(lost)
    draws = [found[f"test/loss@prune:by=random,keep=0.5{draw}"] for draw in ("", ",draw=1")]
    assert draws[0] != draws[1]
    again = nb.evaluate(trained[0], prunings="random:keep=0.5").metrics
    assert again["test/loss@prune:by=random,keep=0.5"] == draws[0]
    recorded = nb.metrics("test/accuracy@prune:by=gamma,keep=0.5")
    assert recorded["value"].tolist() == [found["test/accuracy@prune:by=gamma,keep=0.5"]]


@pytest.mark.parametrize(("prunings", "message"), [("alive", "popnorm' stands before operations"), ("gamma", "")])
def test_a_norm_before_operations_says_nothing_of_what_is_alive(
    trained: list[RunResult], prunings: str, message: str
) -> None:
    (popnorm, *_) = [run for run in trained if run.config.norm == "popnorm"]
    if message:
        with pytest.raises(UsageError, match=message):
            nb.evaluate(popnorm, prunings=prunings)
    else:
        assert "test/accuracy@prune:by=gamma,keep=0.9" in nb.evaluate(popnorm, prunings=prunings).metrics


def test_a_network_without_gamma_and_beta_is_refused() -> None:
    for norm in ("none", "weightnorm"):
        with pytest.raises(UsageError, match="no gamma and beta to prune by"):
            check_prunings(RunConfig(norm=norm), [Pruning("gamma", 0.5)])
    check_prunings(RunConfig(norm="none"), [])
