"""How many seeds would show a difference."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.power import TTestPower

from normbench_cli.reporting.statistics import seeds_needed
from normbench_cli.reporting.statistics.power import seeds_for_level, smallest_p_value


@pytest.mark.parametrize("effect_size", [0.05, 0.3, 0.5, -0.8, 1.0])
def test_the_number_is_that_of_statsmodels(effect_size: float) -> None:
    theirs = TTestPower().solve_power(abs(effect_size), alpha=0.05, power=0.8)
    assert seeds_needed(effect_size) == math.ceil(float(theirs))


def test_the_textbook_case() -> None:
    """Medium effect, two-sided, 80 %: 34 pairs (Cohen 1988)."""
    assert seeds_needed(0.5) == 34


def test_a_clear_difference_still_takes_what_the_permutation_test_needs() -> None:
    assert seeds_needed(50) == seeds_needed(math.inf) == seeds_needed(-math.inf) == 6
    assert seeds_needed(math.inf, level=0.05 / 4) == 8


@pytest.mark.parametrize("nothing", [0.0, math.nan, 1e-4])
def test_what_nobody_will_show_has_no_number(nothing: float) -> None:
    assert seeds_needed(nothing) is None


@pytest.mark.parametrize("level", [0.5, 0.05, 0.01, 0.05 / 7])
def test_the_least_n_reaches_the_level_and_one_less_does_not(level: float) -> None:
    n = seeds_for_level(level)
    assert smallest_p_value(n) <= level < smallest_p_value(n - 1)
