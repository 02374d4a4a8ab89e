"""Contenders on fresh seeds: without luck the test is the paired t-test; luck only makes it more careful."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from normbench_cli.reporting.statistics import luck_of_search, robust_range, stand

NAN = float("nan")
A, B = [0.91, 0.92, 0.915, 0.93, 0.90], [0.90, 0.905, 0.91, 0.91, 0.895]


def seeds(values: list[float]) -> dict[object, float]:
    return dict(enumerate(values))


def test_without_luck_it_is_the_paired_t_test() -> None:
    found = stand({"a": seeds(A), "b": seeds(B)})
    assert found.best == "a"
    assert found.p["b"] == pytest.approx(ttest_rel(A, B).pvalue)
    assert found.p == pytest.approx(found.p_t)
    assert not found.is_tie("b")


@pytest.mark.parametrize("variance", [0.0, 1e-5, 0.01])
def test_luck_makes_no_difference_clearer(variance: float) -> None:
    found = stand({"a": seeds(A), "b": seeds(B)}, {"a": variance})
    assert found.p["b"] >= found.p_t["b"] - 1e-12


def test_equal_contenders_are_a_tie_and_diverged_runs_leave_their_pair_out() -> None:
    assert stand({"a": seeds(A), "b": seeds(A)}).is_tie("b")
    assert stand({"a": seeds(A), "b": seeds([0.2, NAN, NAN, NAN, NAN])}).is_tie("b")
    assert stand({"a": seeds([NAN]), "b": seeds([NAN])}).best is None


def test_with_more_contenders_a_difference_must_be_clearer() -> None:
    two, three = stand({"a": seeds(A), "b": seeds(B)}), stand({"a": seeds(A), "b": seeds(B), "c": seeds(B[::-1])})
    assert three.p["b"] > two.p["b"]


def test_the_luck_of_a_search_is_none_where_one_trial_stands_out_and_that_of_a_coin_toss_where_two_are_alike() -> None:
    assert luck_of_search([0.95, 0.5, 0.4], examples=1000, sd=0.001) == pytest.approx(0, abs=1e-12)
    assert luck_of_search([0.9, 0.9001], examples=100, sd=0.0) == pytest.approx((0.0001 / 2) ** 2, rel=0.01)
    assert luck_of_search([0.9], examples=100, sd=0.01) == 0


def test_the_luck_of_a_search_is_the_variance_of_what_another_validation_set_would_choose() -> None:
    scores, examples, rng = np.array([0.9, 0.89, 0.85]), 300, np.random.default_rng(5)
    drawn = scores + rng.normal(0, np.sqrt(scores * (1 - scores) / examples), (20_000, 3))
    assert luck_of_search(scores.tolist(), examples, NAN) == pytest.approx(scores[drawn.argmax(1)].var(), rel=0.1)


def test_a_robust_range_is_as_wide_as_the_trials_within_a_point_of_the_best() -> None:
    found = robust_range([0.01, 0.1, 1.0, 0.001], [0.94, 0.95, 0.90, 0.939], log=True)
    assert (found.low, found.high, found.trials) == (0.01, 0.1, 2)
    assert found.width == pytest.approx(1)
    assert robust_range([0.2, 0.9], [0.9, 0.905], log=False).width == pytest.approx(0.7)
    assert math.isnan(robust_range([], [], log=True).width)
