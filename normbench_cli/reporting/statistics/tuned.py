"""Comparing the contenders of a tuning: which is best on fresh seeds, and how much the learning rate matters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy.special import stdtr

from normbench_cli.reporting.statistics.groups import Seeds, best_group, paired
from normbench_cli.reporting.statistics.multiple import holm
from normbench_cli.reporting.statistics.paired import LEVEL, NAN, Comparison, compare_paired

POINT = 0.01  # one per cent of accuracy
ROUNDING = 1e-9
# degrees of freedom of an estimated search variance; with more, equal contenders are called different too often (docs)
SEARCH_DF = 2


@dataclass(frozen=True)
class Ranking:
    """best: the contender with the best mean of its final runs, None if none has a value.

    p: for each other contender, the test against the best that includes the variance of both searches, see
    `p_value_with_search`.
    p_t: the paired t-test of the final runs alone.  Both are after Holm's correction over all pairs of contenders,
    because the best one is known only afterwards.  p_permutation: the sign-flip test of the final runs, not
    corrected.
    """

    best: Hashable | None
    p: Mapping[Hashable, float]
    p_t: Mapping[Hashable, float]
    p_permutation: Mapping[Hashable, float]

    def is_tie(self, name: Hashable) -> bool:
        """Whether a contender is not significantly different from the best."""
        return not self.p.get(name, NAN) <= LEVEL


def rank_contenders(
    finals: Mapping[Hashable, Seeds], search_variances: Mapping[Hashable, float] | None = None
) -> Ranking:
    """Return the ranking.  finals: each contender's final values by seed, nan for a diverged run.

    search_variances: what each contender's search adds.  A t-test decides, because with five seeds the permutation
    test cannot go below 1/16.
    """
    best, added = best_group(finals, higher_is_better=True), search_variances or {}
    pairs = [pair for pair in combinations(finals, 2) if paired(finals[pair[0]], finals[pair[1]])[0]]
    found = [compare_paired(*paired(finals[a], finals[b])) for a, b in pairs]
    tests = {
        "p": holm(
            [p_value_of(one, added.get(a, 0.0), added.get(b, 0.0)) for (a, b), one in zip(pairs, found, strict=True)]
        ),
        "p_t": holm([one.p_t for one in found]),
        "p_permutation": [one.p_permutation for one in found],
    }
    others = [(number, b if a == best else a) for number, (a, b) in enumerate(pairs) if best in (a, b)]
    return Ranking(best, **{test: {name: ps[number] for number, name in others} for test, ps in tests.items()})


def p_value_of(found: Comparison, a: float, b: float) -> float:
    """The two-sided p-value of a comparison of contenders whose searches add the variances a and b; if they add
    none, the paired t-test's."""
    return p_value_with_search(found.difference, found.sd, found.n, a, b) if a + b > 0 else found.p_t


def p_value_with_search(difference: float, sd: float, n: int, a: float, b: float) -> float:
    """The two-sided p-value of t = difference / sqrt(sd^2 / n + a + b), where two searches add the variances a and b;
    never below the paired t-test's, which has fewer degrees of freedom."""
    if n < 2 or not a + b > 0:
        return NAN
    of_seeds, distance = sd**2 / n, -abs(difference)
    with_both = stdtr(satterthwaite(of_seeds, n, a, b), distance / math.sqrt(of_seeds + a + b))
    without = stdtr(n - 1, distance / math.sqrt(of_seeds)) if of_seeds > 0 else 0.0
    return float(2 * max(with_both, without))


def satterthwaite(of_seeds: float, n: int, a: float, b: float) -> float:
    """The degrees of freedom of a sum of variances by Welch and Satterthwaite: n - 1 for the variance over n seeds,
    `SEARCH_DF` for that of each search."""
    return (of_seeds + a + b) ** 2 / (of_seeds**2 / (n - 1) + (a**2 + b**2) / SEARCH_DF)


@dataclass(frozen=True)
class RobustRange:
    """The values of a setting whose trials scored within a point of the best.

    width: from the smallest to the largest of them, in decades, or their difference for a setting on a linear scale.
    trials: their number.  Values in between may have scored less, because the other settings differ too.
    """

    low: float
    high: float
    width: float
    trials: int


def robust_range(values: Sequence[float], scores: Sequence[float], *, log: bool, within: float = POINT) -> RobustRange:
    """The range of trials with these values and scores; the caller leaves out failed, diverged and stopped ones."""
    if not scores:
        return RobustRange(NAN, NAN, NAN, 0)
    best = max(scores)
    near = [value for value, score in zip(values, scores, strict=True) if score >= best - within - ROUNDING]
    low, high = min(near), max(near)
    return RobustRange(low, high, math.log10(high / low) if log else high - low, len(near))
