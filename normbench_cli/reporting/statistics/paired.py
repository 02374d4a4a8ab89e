"""Two groups compared seed by seed.

Runs of equal seed see the data in the same order and, where shapes allow, start from the same weights, so the
differences of pairs vary less than the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import permutation_test, ttest_1samp

from normbench_cli.reporting.statistics.power import seeds_for_level, seeds_needed, smallest_p_value
from normbench_cli.reporting.statistics.summary import summarize

LEVEL = 0.05
MOST_EXACT = 14  # pairs up to which all 2^n flips are tried; more are flipped at random
RANDOM_FLIPS = 9999
ENOUGH_FOR_NORMALITY = 20  # differences; with fewer, tests of normality lack power
NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
    """The differences a - b of n pairs.

    difference: their mean; sd: with ddof=1; low, high: the 95 % interval of the mean by Student's t.
    p_t: the paired t-test.  p_permutation: the sign-flip permutation test, exact up to 14 pairs.
    smallest_p: the smallest p-value that it can give with n pairs, 2^(1-n).
    effect_size: difference / sd.  seeds_needed: to find a true difference of this effect size in 80 % of cases;
    None if there is no difference or it would take more than 10,000.
    limits: what n cannot support, one sentence each.
    """

    n: int
    difference: float
    sd: float
    low: float
    high: float
    p_t: float
    p_permutation: float
    smallest_p: float
    effect_size: float
    seeds_needed: int | None
    limits: tuple[str, ...]


def compare_paired(a: Sequence[float], b: Sequence[float], *, level: float = LEVEL, comparisons: int = 1) -> Comparison:
    """Compare the values of two groups, the i-th of a with the i-th of b.

    comparisons: the number that Holm's correction will be over; it raises the bar for significance.
    A non-finite value is not left out: it shows in all numbers.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values cannot be paired with {len(b)}")
    if not len(a):
        raise ValueError("nothing to compare")
    pairs = np.asarray([a, b], dtype=float)
    with np.errstate(invalid="ignore"):  # inf - inf
        differences = without_rounding(pairs[0] - pairs[1], float(np.abs(pairs).max()))
    n, found = len(differences), summarize(differences.tolist())
    effect_size = quotient(found.mean, found.sd)
    return Comparison(
        n=n,
        difference=found.mean,
        sd=found.sd,
        low=found.ci95_low,
        high=found.ci95_high,
        p_t=float(t_test_p_value(differences)),
        p_permutation=float(sign_flip_p_value(differences)),
        smallest_p=smallest_p_value(n),
        effect_size=effect_size,
        seeds_needed=seeds_needed(effect_size, level=level / comparisons),
        limits=tuple(limits(differences, level, comparisons)),
    )


def without_rounding(differences: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Make differences equal if they differ only by the rounding of values of this size."""
    middle = float(np.median(differences))
    equal = math.isfinite(size) and np.abs(differences - middle).max() <= 1e-14 * size
    return np.full_like(differences, middle) if equal else differences


def quotient(difference: float, sd: float) -> float:
    """difference / sd; infinite if all differences are equal and not zero, zero if all are zero."""
    if sd == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / sd


def t_test_p_value(differences: ArrayLike) -> NDArray[np.float64]:
    """The two-sided p-value of the paired t-test, of the differences along the last axis.

    nan for a single difference, and if all are equal but not zero: the t statistic is then infinite, because the sd
    cannot be estimated, not because the evidence is infinite.
    """
    values = np.asarray(differences, dtype=float)
    found = np.full(values.shape[:-1], np.nan)
    found[(values == 0).all(axis=-1)] = 1.0 if values.shape[-1] > 1 else np.nan
    testable = np.isfinite(values).all(axis=-1) & (np.ptp(values, axis=-1) > 0)
    if testable.any():
        found[testable] = ttest_1samp(values[testable], 0, axis=-1).pvalue
    return found


def sign_flip_p_value(differences: ArrayLike) -> NDArray[np.float64]:
    """The two-sided p-value of the sign-flip permutation test, of the differences along the last axis.

    If the groups were equal, every difference could equally well have the other sign.  The p-value is the fraction of
    the 2^n sign flips whose mean is at least as far from zero.  With more than 14 pairs, 9,999 random flips are used
    instead, the same in every call.
    """
    values = np.asarray(differences, dtype=float)
    found = np.full(values.shape[:-1], np.nan)
    testable = np.isfinite(values).all(axis=-1)
    if values.shape[-1] == 1:
        found[testable] = 1.0
    elif testable.any():
        found[testable] = permutation_test(
            (values[testable],),
            lambda drawn, axis: drawn.mean(axis=axis),
            permutation_type="samples",  # of a single sample: sign flips
            vectorized=True,
            axis=-1,
            n_resamples=2**MOST_EXACT if values.shape[-1] <= MOST_EXACT else RANDOM_FLIPS,
            batch=max(1, 4_000_000 // values.size),
            rng=np.random.default_rng(0),
        ).pvalue
    return found


def limits(differences: NDArray[np.float64], level: float, comparisons: int) -> list[str]:
    """What these differences cannot support."""
    n = len(differences)
    if not np.isfinite(differences).all():
        return ["a value that is not finite cannot be compared"]
    if n == 1:
        return ["one pair has no spread: no interval, no test"]
    found = []
    if smallest_p_value(n) > level / comparisons:
        over = f" over {comparisons} comparisons" if comparisons > 1 else ""
        found.append(
            f"with n={n} the permutation test cannot go below p={smallest_p_value(n):.3g}, so no difference is called"
            f" significant at {level:g}{over}: that takes at least {seeds_for_level(level / comparisons)} seeds"
        )
    if np.ptp(differences) == 0:
        found.append(f"all {n} differences are equal: there is no sd to test with")
    elif n < ENOUGH_FOR_NORMALITY:
        found.append(
            f"{n} pairs are too few to check that differences are normal, as the interval and the paired t assume"
        )
    return found
