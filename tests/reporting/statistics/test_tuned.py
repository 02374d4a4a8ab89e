"""Contenders on fresh seeds: without search variance the test is the paired t-test, and with it only more careful."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest
from scipy.stats import t, ttest_rel

from normbench_cli.reporting.statistics import rank_contenders, robust_range
from normbench_cli.reporting.statistics.tuned import SEARCH_DF, p_value_with_search, satterthwaite

NAN = float("nan")
A, B = [0.91, 0.92, 0.915, 0.93, 0.90], [0.90, 0.905, 0.91, 0.91, 0.895]


def seeds(values: list[float]) -> dict[object, float]:
    return dict(enumerate(values))


def test_without_search_variance_it_is_the_paired_t_test() -> None:
    found = rank_contenders({"a": seeds(A), "b": seeds(B)})
    assert found.best == "a"
    assert found.p["b"] == pytest.approx(ttest_rel(A, B).pvalue)
    assert found.p == pytest.approx(found.p_t)
    assert not found.is_tie("b")


@pytest.mark.parametrize("variance", [0.0, 1e-7, 1e-5, 0.01])
def test_search_variance_makes_no_difference_clearer(variance: float) -> None:
    found = rank_contenders({"a": seeds(A), "b": seeds(B)}, {"a": variance})
    assert found.p["b"] >= found.p_t["b"] - 1e-12


def test_the_test_with_search_variance_is_that_of_welch_and_satterthwaite() -> None:
    assert satterthwaite(4.0, 5, 0.0, 0.0) == 4
    assert satterthwaite(0.0, 5, 3.0, 3.0) == 2 * SEARCH_DF
    found = p_value_with_search(0.03, 0.02, 5, 1e-4, 2e-4)
    degrees = satterthwaite(0.02**2 / 5, 5, 1e-4, 2e-4)
    assert found == pytest.approx(2 * t.sf(0.03 / (0.02**2 / 5 + 3e-4) ** 0.5, degrees))


def test_differences_that_are_all_equal_are_judged_by_search_variance_alone() -> None:
    same: dict[Hashable, dict[Hashable, float]] = {"a": {0: 0.91, 1: 0.92}, "b": {0: 0.90, 1: 0.91}}
    assert rank_contenders(same).is_tie("b")
    assert rank_contenders(same, {"a": 1e-4}).is_tie("b")
    assert not rank_contenders(same, {"a": 1e-8, "b": 1e-8}).is_tie("b")


def test_equal_contenders_are_a_tie_and_diverged_runs_leave_their_pair_out() -> None:
    assert rank_contenders({"a": seeds(A), "b": seeds(A)}).is_tie("b")
    assert rank_contenders({"a": seeds(A), "b": seeds([0.2, NAN, NAN, NAN, NAN])}).is_tie("b")
    assert rank_contenders({"a": seeds([NAN]), "b": seeds([NAN])}).best is None


def test_with_more_contenders_a_difference_must_be_clearer() -> None:
    two, three = (
        rank_contenders({"a": seeds(A), "b": seeds(B)}),
        rank_contenders({"a": seeds(A), "b": seeds(B), "c": seeds(B[::-1])}),
    )
    assert three.p["b"] > two.p["b"]


def test_a_robust_range_is_as_wide_as_the_trials_within_a_point_of_the_best() -> None:
    found = robust_range([0.01, 0.1, 1.0, 0.001], [0.94, 0.95, 0.90, 0.939], log=True)
    assert (found.low, found.high, found.trials) == (0.01, 0.1, 2)
    assert found.width == pytest.approx(1)
    assert robust_range([0.2, 0.9], [0.9, 0.905], log=False).width == pytest.approx(0.7)
    assert math.isnan(robust_range([], [], log=True).width)
