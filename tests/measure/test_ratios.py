"""Ratios round by round: their interval holds the truth on machines that drift, stall or are loaded at times.

The machines are simulated, so what is tested is the statistics, not this machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from normbench_cli.measure.ratios import Ratio, count_outliers, paired_ratio, rounds_beyond
from normbench_cli.reporting.figures.profiles import paired_ratio as reported_ratio

Machine = Callable[[np.random.Generator, int], np.ndarray]  # how slow it is at each of so many samples in a row


def heavy_tailed(rng: np.random.Generator, samples: int) -> np.ndarray:
    return 1 + 0.02 * np.abs(rng.standard_t(1.5, samples))


def drifting(rng: np.random.Generator, samples: int) -> np.ndarray:
    return np.linspace(1, 1.5, samples) * np.exp(0.02 * rng.standard_normal(samples))


def loaded_at_times(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Another program comes and goes, and makes everything slower by four fifths while it is there."""
    there = np.cumsum(rng.random(samples) < 0.1) % 2
    return (1 + 0.8 * there) * np.exp(0.03 * rng.standard_normal(samples))


MACHINES = [heavy_tailed, drifting, loaded_at_times]


def interleaved(machine: Machine, slower: float, rounds: int, seed: int) -> Ratio:
    """What is measured of two contenders of which the first is slower by this factor."""
    rng = np.random.default_rng(seed)
    speed = machine(rng, 2 * rounds).reshape(rounds, 2)
    first = rng.random(rounds) < 0.5
    own, other = np.where(first, speed[:, 0], speed[:, 1]), np.where(first, speed[:, 1], speed[:, 0])
    return paired_ratio(slower * own, other)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rounds", [10, 20])
def test_the_interval_of_two_equal_contenders_holds_one(machine: Machine, rounds: int) -> None:
    found = [interleaved(machine, 1.0, rounds, seed) for seed in range(150)]
    assert sum(ratio.low <= 1 <= ratio.high for ratio in found) >= 0.93 * len(found)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_contender_that_is_five_percent_slower_is_found_to_be(machine: Machine) -> None:
    found = [interleaved(machine, 1.05, 100, seed) for seed in range(40)]
    assert sum(ratio.low <= 1.05 <= ratio.high for ratio in found) >= 36
    assert np.median([ratio.median for ratio in found]) == pytest.approx(1.05, abs=0.005)


@pytest.mark.parametrize("machine", [drifting, loaded_at_times])
def test_one_after_the_other_a_slow_minute_is_taken_for_a_slow_layer(machine: Machine) -> None:
    def naive(seed: int) -> float:
        own, other = machine(np.random.default_rng(seed), 40).reshape(2, 20)
        return float(np.median(own) / np.median(other))

    assert sum(abs(naive(seed) - 1) > 0.03 for seed in range(40)) >= 20
    assert sum(abs(interleaved(machine, 1.0, 20, seed).median - 1) > 0.03 for seed in range(40)) <= 4


def test_a_ratio_is_the_median_of_the_ratios_of_rounds_not_the_ratio_of_medians() -> None:
    found = paired_ratio([1.0, 10.0, 4.0], [1.0, 5.0, 8.0])
    assert found.median == 1.0  # of 1, 2 and 1/2; the medians are 4 and 5
    assert (found.low, found.high) == (0.5, 2.0)


def test_the_ratio_of_equal_samples_is_one_and_certain() -> None:
    assert paired_ratio([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == Ratio(1.0, 1.0, 1.0)
    assert Ratio(1.0, 1.0, 1.0).width == 0
    assert Ratio(2.0, 1.0, 4.0).width == 1.5
    assert Ratio(0.0, 0.0, 1.0).width == 0


def test_the_interval_holds_19_of_20_resampled_medians_and_is_the_same_each_time() -> None:
    samples, ones = [float(value) for value in range(1, 42)], [1.0] * 41
    found = paired_ratio(samples, ones)
    assert found == paired_ratio(samples, ones)
    assert found.median == 21.0
    assert 9 <= found.low <= 15  # the median's standard error is about 2.9
    assert 27 <= found.high <= 33


@given(st.integers(1, 400) | st.just(5000))
def test_the_order_statistics_are_those_of_a_sign_test(rounds: int) -> None:
    beyond = rounds_beyond(rounds)
    assert beyond == 0 or binom.cdf(beyond, rounds, 0.5) <= 0.025 + 1e-12
    assert binom.cdf(beyond + 1, rounds, 0.5) > 0.025 - 1e-12


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_interval_holds_the_median_and_no_order_of_the_rounds_changes_it(samples: list[float], rng: object) -> None:
    ones = [1.0] * len(samples)
    found = paired_ratio(samples, ones)
    assert min(samples) <= found.low <= found.median <= found.high <= max(samples)
    assert paired_ratio(samples[::-1], ones) == found


def test_a_report_computes_the_same_interval_from_the_recorded_samples() -> None:
    rng = np.random.default_rng(0)
    own, base = rng.lognormal(size=(2, 23))
    found = paired_ratio(own, base)
    assert reported_ratio(own, base) == (found.median, found.low, found.high)


def test_outliers_are_counted_from_the_median_on_both_sides() -> None:
    steady = [9.0, 10.0, 11.0] * 5
    assert count_outliers(steady) == 0
    assert count_outliers([*steady, 10 + 14.9, 10 - 14.9]) == 2
    assert count_outliers([*steady, 10 + 14.8]) == 0
    assert count_outliers([5.0] * 4) == 0
