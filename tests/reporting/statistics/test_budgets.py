"""Expected best scores equal what brute force over all choices gives, and a bootstrap in the limit."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.reporting.statistics import expected_best, expected_best_interval

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(SCORES)
def test_without_replacement_it_is_the_mean_best_of_all_choices(scores: list[float]) -> None:
    brute = [np.mean([max(chosen) for chosen in combinations(scores, n)]) for n in range(1, len(scores) + 1)]
    assert expected_best(scores) == pytest.approx(brute)


@given(SCORES.filter(lambda scores: len(scores) <= 4))
def test_with_replacement_it_is_the_mean_best_of_all_draws(scores: list[float]) -> None:
    brute = [np.mean([max(drawn) for drawn in product(scores, repeat=n)]) for n in range(1, len(scores) + 1)]
    assert expected_best(scores, replacement=True) == pytest.approx(brute)


@pytest.mark.parametrize("replacement", [False, True])
def test_it_equals_a_bootstrap_by_brute_force(replacement: bool) -> None:
    rng = np.random.default_rng(0)
    scores = rng.beta(8, 2, 12)
    for n, expected in enumerate(expected_best(scores.tolist(), replacement=replacement), start=1):
        drawn = (
            rng.choice(scores, (4000, n)) if replacement else rng.permuted(np.tile(scores, (4000, 1)), axis=1)[:, :n]
        )
        best = drawn.max(axis=1)
        assert abs(best.mean() - expected) <= 4 * best.std() / 4000**0.5 + 1e-9


def test_the_curve_rises_from_the_mean_to_the_best_also_for_many_scores() -> None:
    scores = np.random.default_rng(0).random(300)
    found = expected_best(scores.tolist())
    assert found[0] == pytest.approx(scores.mean())
    assert found[-1] == pytest.approx(scores.max())
    assert (np.diff(found) > -1e-12).all()


def test_the_interval_is_that_of_resampled_scores() -> None:
    scores = np.random.default_rng(0).random(9).tolist()
    low, high = expected_best_interval(scores, resamples=500, seed=3)
    drawn = np.random.default_rng(3).choice(scores, (500, 9))
    curves = np.array([expected_best(one.tolist()) for one in drawn])
    assert low == pytest.approx(np.quantile(curves, 0.025, axis=0))
    assert high == pytest.approx(np.quantile(curves, 0.975, axis=0))
