"""2,000 tables of equal methods: how often chance is called a result, and how often an interval holds the truth.

Each table has four groups with the same seeds.  The values are normal; every seed has an effect common to all groups.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from normbench_cli.reporting.statistics import (
    bootstrap_interval,
    compare_groups,
    compare_paired,
    holm,
    sign_flip_p_value,
    summarize,
    t_test_p_value,
)

TABLES, GROUPS = 2000, 4
SLOW = pytest.mark.slow
PAIRS = list(itertools.combinations(range(GROUPS), 2))
AGAINST_BASELINE = [index for index, pair in enumerate(PAIRS) if 0 in pair]
TOLERANCE = 3 * (0.05 * 0.95 / TABLES) ** 0.5  # three standard errors of a rate of 5 % in 2,000 tables


@pytest.fixture(autouse=True)
def without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """statsmodels collects garbage whenever it corrects p-values; once a table that takes a minute."""
    monkeypatch.setattr("gc.collect", lambda: 0)


def tables(n: int) -> NDArray[np.float64]:
    """Axes: table, group, seed."""
    random = np.random.default_rng(n)
    return random.normal(size=(TABLES, 1, n)) + random.normal(size=(TABLES, GROUPS, n))


def differences(n: int) -> NDArray[np.float64]:
    """Axes: table, pair of groups, seed."""
    values = tables(n)
    return np.stack([values[:, b] - values[:, a] for a, b in PAIRS], axis=1)


@cache
def permutation_p_values(n: int) -> NDArray[np.float64]:
    return sign_flip_p_value(differences(n))


def false_alarm_rate(p_values: NDArray[np.float64]) -> float:
    """The fraction of tables in which any comparison is significant after Holm's correction."""
    return float(np.mean([min(holm(row)) <= 0.05 for row in p_values]))


@pytest.mark.parametrize("n", [3, pytest.param(5, marks=SLOW), 10])
def test_the_permutation_test_raises_no_more_false_alarms_than_stated(n: int) -> None:
    against_baseline = false_alarm_rate(permutation_p_values(n)[:, AGAINST_BASELINE])
    all_pairs = false_alarm_rate(permutation_p_values(n))
    if n < 6:
        assert (against_baseline, all_pairs) == (0, 0)
    else:
        assert 0.02 < against_baseline < 0.05 + TOLERANCE
        assert 0.01 < all_pairs < 0.05 + TOLERANCE


@pytest.mark.parametrize("n", [3, pytest.param(5, marks=SLOW), 10])
def test_the_paired_t_test_raises_false_alarms_at_the_stated_rate(n: int) -> None:
    p_values = t_test_p_value(differences(n))
    assert float((p_values[:, 0] <= 0.05).mean()) == pytest.approx(0.05, abs=TOLERANCE)
    assert 0.02 < false_alarm_rate(p_values[:, AGAINST_BASELINE]) < 0.05 + TOLERANCE
    assert 0.02 < false_alarm_rate(p_values) < 0.05 + TOLERANCE


@pytest.mark.parametrize("n", [3, pytest.param(5, marks=SLOW), 10])
def test_a_table_decides_by_these_p_values(n: int) -> None:
    """The first tables and, for n=10, those with the smallest p-values, through the function that tables use."""
    p_values = permutation_p_values(n)
    for number in {*range(5), *np.argsort(p_values.min(axis=1))[:5].tolist()}:
        rows = [(g, s, v) for g, seeds in enumerate(tables(n)[number]) for s, v in enumerate(seeds)]
        found = compare_groups(pd.DataFrame(rows, columns=["group", "seed", "value"]), 0)
        expected = holm(p_values[number, AGAINST_BASELINE].tolist())
        assert found.table["p_permutation_holm"].tolist() == pytest.approx(expected)
        apart = {pair for pair, p in zip(PAIRS, holm(p_values[number].tolist()), strict=True) if p <= 0.05}
        assert set(found.ties) == {g for g in range(GROUPS) if not {(g, found.best), (found.best, g)} & apart}


@pytest.mark.parametrize("n", [5, 10])
def test_intervals_of_mean_and_difference_hold_the_truth_in_95_percent(n: int) -> None:
    means = [summarize(values.tolist()) for values in tables(n)[:, 0]]
    assert 0.93 < np.mean([one.ci95_low <= 0 <= one.ci95_high for one in means]) < 0.97
    compared = [summarize(values.tolist()) for values in differences(n)[:, 0]]
    assert 0.93 < np.mean([one.ci95_low <= 0 <= one.ci95_high for one in compared]) < 0.97
    for one, values in zip(compared[:5], tables(n), strict=False):
        found = compare_paired(values[1].tolist(), values[0].tolist())
        assert (found.low, found.high) == pytest.approx((one.ci95_low, one.ci95_high))


@pytest.mark.parametrize(
    ("n", "offsets"),
    [(5, (-4, 0, 4)), (10, (0,)), pytest.param(5, (0,), marks=SLOW), pytest.param(10, (-4, 0, 4), marks=SLOW)],
)
def test_the_bootstrap_interval_holds_the_truth_in_95_percent(n: int, offsets: tuple[float, ...]) -> None:
    """Runs on different data sets are independent.  By symmetry the true interquartile mean is zero."""
    random = np.random.default_rng(n)
    values = [random.normal(offset, 1, size=(TABLES, n)) for offset in offsets]
    low, high = bootstrap_interval(values, resamples=799)
    assert 0.93 < np.mean((low <= 0) & (high >= 0)) < 0.97
