"""The search variance: none where nothing else could have won, otherwise that of the model it states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from normbench_cli.reporting.statistics import search_variance
from normbench_cli.reporting.statistics.search_noise import noise_of, plausible_accuracies
from tests.reporting.statistics.tunings import Plan, rates

NAN = float("nan")
THREE, NOISE = np.array([0.90, 0.893, 0.87]), np.array([0.010, 0.011, 0.012])


def test_there_is_none_without_a_rival() -> None:
    assert search_variance([0.95, 0.5, 0.4], examples=1000, sd=0.001) == 0
    assert search_variance([0.9], examples=100, sd=0.01) == 0
    assert search_variance([], examples=100, sd=0.01) == 0


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=6), st.integers(1, 10_000), st.floats(0, 0.1) | st.just(NAN))
def test_it_is_a_number_for_any_scores(scores: list[float], examples: int, sd: float) -> None:
    assert 0 <= search_variance(scores, examples, sd) < 10


def test_more_examples_leave_less_search_variance_and_more_noise_over_seeds_leaves_more() -> None:
    scores = [0.9, 0.893, 0.885, 0.88, 0.7]
    few, many = search_variance(scores, 900, 0.005), search_variance(scores, 20_000, 0.001)
    assert 0 < many < few / 2
    assert search_variance(scores, 20_000, 0.01) > 2 * many


def test_the_noise_is_that_of_a_share_and_of_seeds_and_a_perfect_score_has_some() -> None:
    (usual, perfect) = noise_of(np.array([0.9, 1.0]), 1000, 0.01)
    assert usual == pytest.approx((0.9 * 0.1 / 1000 + 0.01**2) ** 0.5, rel=0.01)
    assert perfect > 0.01
    assert noise_of(np.array([1.0]), 1000, NAN)[0] > 0.001


def test_plausible_accuracies_are_those_of_the_model_by_brute_force() -> None:
    """Populations drawn from the prior, and accuracies from them, weighed by how well they explain the scores."""
    rng = np.random.default_rng(0)
    draws = 400_000
    mean, spread = rng.uniform(0.6, 1.2, draws), rng.uniform(0, 6 * NOISE.max(), draws)
    accuracies = rng.normal(mean[:, None], spread[:, None], (draws, 3))
    weight = norm.pdf(THREE, accuracies, NOISE).prod(axis=1)
    weight /= weight.sum()
    found = plausible_accuracies(THREE, NOISE, 20_000, rng)
    center = weight @ accuracies
    assert found.mean(axis=0) == pytest.approx(center, abs=0.0005)
    assert np.cov(found.T) == pytest.approx((weight * (accuracies - center).T) @ (accuracies - center), abs=6e-6)


def test_scores_that_differ_by_noise_alone_are_pulled_together() -> None:
    rng = np.random.default_rng(1)
    scores = 0.9 + rng.normal(0, 0.01, 12)
    found = plausible_accuracies(scores, np.full(12, 0.01), 2000, rng)
    assert found.mean(axis=0).std() < 0.6 * scores.std()


def test_equal_contenders_are_seldom_called_different() -> None:
    """The paired t-test alone does it in a third of these tunings."""
    found = rates(Plan("two peaks"), points=6, each=8)
    assert found.equal <= 0.1 < 0.2 < found.plain


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(("landscape", "least"), [("broad peak", 0.6), ("sharp peak", 0.8), ("two peaks", 0.8)])
def test_false_differences_and_power_are_those_stated(landscape: str, least: float, seeds: int) -> None:
    """least: of the power that theory gives; at the broad peak one vector of scores shows less of the variance."""
    found = rates(Plan(landscape, seeds=seeds), each=20)
    error = (0.05 * 0.95 / 400) ** 0.5
    assert found.equal <= 0.05 + 2 * error
    assert found.found[2] > least * found.theory[2]
    assert 0.8 < found.estimated / found.true_sd < 1.3
