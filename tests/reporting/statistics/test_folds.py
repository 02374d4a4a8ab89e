"""The t-test for folds: its formula, and that it finds less than a test that takes folds for independent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from normbench_cli.reporting.statistics import t_test_p_value
from normbench_cli.reporting.statistics.folds import corrected_t_p_value


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=30))
def test_it_never_finds_more_than_the_paired_t_test(differences: list[float]) -> None:
    corrected, usual = corrected_t_p_value(differences, 10), float(t_test_p_value(differences))
    assert math.isnan(corrected) == math.isnan(usual)
    assert math.isnan(usual) or corrected >= usual - 1e-12


def test_with_endless_folds_it_is_the_paired_t_test() -> None:
    differences = [0.3, -0.1, 0.2, 0.25, 0.05]
    assert corrected_t_p_value(differences, 10**12) == pytest.approx(ttest_1samp(differences, 0).pvalue)


@pytest.mark.parametrize(
    ("differences", "p"), [([0.1], math.nan), ([0.1] * 5, math.nan), ([0.0] * 5, 1.0), ([0.1, math.nan], math.nan)]
)
def test_what_cannot_be_tested(differences: list[float], p: float) -> None:
    assert corrected_t_p_value(differences, 10) == pytest.approx(p, nan_ok=True)


@pytest.mark.slow
def test_the_false_alarms_of_a_cross_validation_stay_near_the_level() -> None:
    """Two learners that are equally good: a mean and a median of normal training values, tested on the others.

    The training sets of ten folds share eight ninths of their examples.  The paired t-test calls more than it says.
    """
    draws, alarms = np.random.default_rng(0), np.zeros(2)
    for _ in range(1000):
        values, noise = draws.normal(size=(2, 100))
        folds = np.arange(100) % 10
        differences = []
        for fold in range(10):
            train, test = folds != fold, folds == fold
            # each learner sees one half of the features; both features are alike, so both learners are
            a, b = values[train].mean(), noise[train].mean()
            differences.append(float(((values[test] - a) ** 2 - (noise[test] - b) ** 2).mean()))
        alarms += np.array([t_test_p_value(differences), corrected_t_p_value(differences, 10)]) <= 0.05
    assert alarms[1] < alarms[0]
    assert alarms[1] <= 0.05 * 1000
