"""How many seeds would show a difference: the power of the paired test."""

from __future__ import annotations

import math

from statsmodels.stats.power import TTestPower

POWER = 0.8  # the conventional power
MOST_SEEDS = 10_000  # a difference that needs more is out of reach


def seeds_needed(effect_size: float, *, level: float = 0.05, power: float = POWER) -> int | None:
    """The smallest number of seeds that finds a true difference of this effect size with this power.

    effect_size: difference / sd of the differences.  level: of one test; with k comparisons under Holm's correction the
    strictest is 0.05 / k.  The power is that of the paired t-test, but never with fewer seeds than the permutation test
    needs to reach the level at all; that test may need one seed more for the same power.
    None: the difference is zero or unknown, or needs more than 10,000 seeds.
    """
    if math.isnan(effect_size) or effect_size == 0:
        return None
    least = seeds_for_level(level)
    if math.isinf(effect_size):
        return least
    too_few, enough = least - 1, least
    while t_test_power(effect_size, enough, level) < power:
        if enough >= MOST_SEEDS:
            return None
        too_few, enough = enough, min(2 * enough, MOST_SEEDS)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if t_test_power(effect_size, middle, level) < power:
            too_few = middle
        else:
            enough = middle
    return enough


def t_test_power(effect_size: float, n: int, level: float) -> float:
    found = TTestPower().power(abs(effect_size), n, level)
    return 1.0 if math.isnan(found) else float(found)  # scipy's noncentral t gives nan for very large effects


def smallest_p_value(n: int) -> float:
    """The smallest p-value of the two-sided sign-flip permutation test of n pairs: 2 of 2^n flips are as extreme."""
    return 2.0 ** (1 - n)


def seeds_for_level(level: float) -> int:
    """The smallest number of pairs with which the permutation test can reach a level: six for 0.05."""
    return max(2, math.ceil(1 - math.log2(level)))
