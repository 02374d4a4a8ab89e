"""Two groups compared seed by seed: against scipy, against every sign flip, and against what n can support."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from normbench_cli.reporting.statistics import compare_paired, sign_flip_p_value, t_test_p_value

A = [0.912, 0.934, 0.921, 0.955, 0.917]
B = [0.903, 0.921, 0.925, 0.931, 0.902]
values = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))
pairs = st.lists(st.tuples(values, values), min_size=2, max_size=6)
quick = settings(max_examples=25)


def test_interval_and_t_test_are_scipys() -> None:
    found, theirs = compare_paired(A, B), stats.ttest_rel(A, B)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high, found.p_t) == pytest.approx((interval.low, interval.high, theirs.pvalue))
    differences = np.subtract(A, B)
    assert (found.difference, found.sd) == pytest.approx((differences.mean(), differences.std(ddof=1)))
    assert found.n == 5
    assert found.effect_size == pytest.approx(found.difference / found.sd)


@quick
@given(pairs)
def test_the_permutation_test_tries_every_sign(drawn: list[tuple[float, float]]) -> None:
    a, b = zip(*drawn, strict=True)
    thousandths = [round(1000 * x) - round(1000 * y) for x, y in drawn]  # exact sums
    observed = abs(sum(thousandths))
    flips = list(itertools.product((1, -1), repeat=len(drawn)))
    far = sum(abs(sum(s * d for s, d in zip(signs, thousandths, strict=True))) >= observed for signs in flips)
    scaled = sign_flip_p_value(np.asarray(thousandths, dtype=float))
    assert float(scaled) == pytest.approx(far / len(flips))
    assert compare_paired(a, b).smallest_p == 2 / len(flips)


@quick
@given(pairs)
def test_the_other_way_round_only_signs_change(drawn: list[tuple[float, float]]) -> None:
    a, b = zip(*drawn, strict=True)
    one, other = compare_paired(a, b), compare_paired(b, a)
    assert (other.difference, other.low, other.high) == pytest.approx((-one.difference, -one.high, -one.low))
    assert (other.p_t, other.p_permutation) == pytest.approx((one.p_t, one.p_permutation), nan_ok=True)
    assert other.seeds_needed == one.seeds_needed


def test_many_pairs_are_flipped_at_random_but_always_alike() -> None:
    random = np.random.default_rng(0)
    differences = random.normal(0.5, 1, 20)
    found = float(sign_flip_p_value(differences))
    assert found == float(sign_flip_p_value(differences))
    assert found == pytest.approx(float(t_test_p_value(differences)), abs=0.02)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_with_fewer_than_six_pairs_nothing_is_significant_and_the_limits_say_why(n: int) -> None:
    found = compare_paired([100.0 + seed / 10 for seed in range(n)], [0.0] * n)
    assert found.p_permutation == found.smallest_p == 2.0 ** (1 - n)
    assert found.p_permutation > 0.05
    assert f"with n={n} the permutation test cannot go below p={found.smallest_p:.3g}" in found.limits[0]
    assert "at least 6 seeds" in found.limits[0]


def test_a_table_of_comparisons_needs_more_pairs() -> None:
    a = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert not any("permutation" in limit for limit in compare_paired(a, [0.0] * 6).limits)
    (limit, _) = compare_paired(a, [0.0] * 6, comparisons=4).limits
    assert "over 4 comparisons: that takes at least 8 seeds" in limit
    assert compare_paired(a, [0.0] * 6, comparisons=4).seeds_needed == 8


def test_equal_differences_are_no_proof() -> None:
    found = compare_paired([0.91, 0.92, 0.93], [0.81, 0.82, 0.83])  # equal but for rounding
    assert (found.sd, found.effect_size) == (0, math.inf)
    assert math.isnan(found.p_t)
    assert "all 3 differences are equal" in found.limits[1]


def test_equal_groups_differ_by_nothing() -> None:
    found = compare_paired(A, A)
    assert (found.difference, found.p_t, found.p_permutation, found.effect_size) == (0, 1, 1, 0)
    assert found.seeds_needed is None


def test_a_single_pair_has_a_difference_and_no_test() -> None:
    found = compare_paired([0.9], [0.8])
    assert found.difference == pytest.approx(0.1)
    assert (found.p_permutation, found.seeds_needed) == (1, None)
    assert all(math.isnan(value) for value in (found.sd, found.low, found.high, found.p_t))
    assert found.limits == ("one pair has no spread: no interval, no test",)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_shows(bad: float) -> None:
    found = compare_paired([0.9, bad, 0.8], [0.7, 0.8, bad])
    assert not math.isfinite(found.difference)
    assert math.isnan(found.p_permutation)
    assert found.limits == ("a value that is not finite cannot be compared",)


def test_pairs_need_two_sides() -> None:
    with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
        compare_paired([1, 2], [1])
    with pytest.raises(ValueError, match="nothing"):
        compare_paired([], [])
