"""The interquartile mean and its bootstrap interval."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.reporting.statistics import bootstrap_interval, interquartile_mean

finite = st.floats(-1e6, 1e6)


def test_the_interquartile_mean_by_hand() -> None:
    assert interquartile_mean([100, 1, 2, 3, 4, 5, 6, -100]) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert interquartile_mean([9, 1, 2]) == pytest.approx(4), "a quarter of three values, rounded down, is none"


@given(st.lists(finite, min_size=4, max_size=40), finite)
def test_one_outlier_does_not_move_it_beyond_the_others(values: list[float], outlier: float) -> None:
    found = float(interquartile_mean([*values, outlier]))
    rounding = 1e-12 * max(map(abs, values))
    assert min(values) - rounding <= found <= max(values) + rounding


def test_the_percentile_interval_is_that_of_all_resamples() -> None:
    """Two data sets, three seeds each: 27 * 27 resamples, stratified."""
    strata = [[0.1, 0.2, 0.4], [0.7, 0.75, 0.95]]
    draws = [list(itertools.product(stratum, repeat=3)) for stratum in strata]
    every = [float(interquartile_mean([*a, *b])) for a, b in itertools.product(*draws)]
    low, high = bootstrap_interval(strata, expanded=False)
    assert (float(low), float(high)) == pytest.approx(tuple(np.quantile(every, [0.025, 0.975])), abs=0.01)


def test_strata_are_drawn_apart() -> None:
    """Were all values drawn together, two constant data sets would give a wide interval."""
    low, high = bootstrap_interval([[0.0] * 5, [1.0] * 5])
    assert (float(low), float(high)) == (0.5, 0.5)


def test_the_expanded_interval_is_the_wider_one() -> None:
    strata = list(np.random.default_rng(0).normal(size=(3, 5)))
    (low, high), (inner_low, inner_high) = bootstrap_interval(strata), bootstrap_interval(strata, expanded=False)
    assert low < inner_low < inner_high < high


def test_a_single_value_of_a_data_set_has_no_interval() -> None:
    assert np.isnan(bootstrap_interval([[0.1, 0.2], [0.3]])).all()


def test_the_same_values_give_the_same_interval() -> None:
    values = [[0.1, 0.5, 0.3, 0.2, 0.9]]
    assert bootstrap_interval(values) == bootstrap_interval(values)
