"""Mean, standard deviation and interval of a few numbers."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from normbench_cli.reporting.statistics import summarize

usual = st.floats(-1e12, 1e12)
finite = st.floats(-1e300, 1e300)


@given(st.lists(usual, min_size=2, max_size=30))
def test_mean_and_sd_are_those_of_the_standard_library(values: list[float]) -> None:
    found = summarize(values)
    size = max(map(abs, values))
    assert found.n == len(values)
    assert found.mean == pytest.approx(statistics.mean(values), rel=1e-12, abs=1e-12 * size)
    assert found.sd == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12 * size)


@given(st.lists(finite, min_size=1, max_size=30))
def test_the_mean_lies_between_the_ends(values: list[float]) -> None:
    found = summarize(values)
    assert (found.min, found.max) == (min(values), max(values))
    assert found.min <= found.mean <= found.max


@given(st.lists(finite, min_size=2, max_size=10))
def test_the_interval_holds_the_mean(values: list[float]) -> None:
    found = summarize(values)
    assert found.ci95_low <= found.mean <= found.ci95_high
    assert found.sd >= 0


@given(finite, st.integers(2, 20))
def test_equal_values_have_no_spread(value: float, n: int) -> None:
    found = summarize([value] * n)
    assert (found.mean, found.sd, found.ci95_low, found.ci95_high) == (value, 0, value, value)


@given(st.lists(usual, min_size=2, max_size=10), st.randoms())
def test_the_order_does_not_matter(values: list[float], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    assert summarize(shuffled).mean == summarize(values).mean


def test_the_interval_is_students() -> None:
    values = [0.91, 0.93, 0.92, 0.95]
    low, high = stats.t.interval(0.95, 3, loc=statistics.mean(values), scale=stats.sem(values))
    found = summarize(values)
    assert (found.ci95_low, found.ci95_high) == pytest.approx((low, high))


def test_of_one_value_there_is_no_spread() -> None:
    found = summarize([0.5])
    assert (found.mean, found.min, found.max, found.n) == (0.5, 0.5, 0.5, 1)
    assert all(math.isnan(value) for value in (found.sd, found.ci95_low, found.ci95_high))


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([1, math.nan], math.nan),
        ([1, math.inf], math.inf),
        ([-math.inf, 1], -math.inf),
        ([-math.inf, math.inf], math.nan),
    ],
)
def test_values_that_are_not_finite_show(values: list[float], mean: float) -> None:
    found = summarize(values)
    assert repr(found.mean) == repr(mean)
    assert math.isnan(found.sd)
    assert found.n == 2


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="nothing"):
        summarize([])
