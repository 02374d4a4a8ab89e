"""What a tuning shows of its contenders: which is best on fresh seeds, and how much the learning rate matters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr

from normbench_cli.reporting.statistics.groups import Seeds, best_group, paired
from normbench_cli.reporting.statistics.multiple import holm
from normbench_cli.reporting.statistics.paired import LEVEL, NAN, Comparison, compare_paired

POINT = 0.01  # one per cent of accuracy
ROUNDING = 1e-9
DRAWS = 4000  # of `luck_of_search`


@dataclass(frozen=True)
class Standing:
    """best: the contender with the best mean of its final runs, None if none has a value.

    p: of each other, the test against the best that counts the luck of the search, see `luck_of_search`.  p_t: the
    paired t-test of the final runs alone.  Both are after Holm's correction over all pairs of contenders, because which
    one is best is known only afterwards.  p_permutation: the sign-flip test of the final runs, not corrected.
    """

    best: Hashable | None
    p: Mapping[Hashable, float]
    p_t: Mapping[Hashable, float]
    p_permutation: Mapping[Hashable, float]

    def is_tie(self, name: Hashable) -> bool:
        """Whether the test does not tell a contender from the best."""
        return not self.p.get(name, NAN) <= LEVEL


def stand(finals: Mapping[Hashable, Seeds], luck: Mapping[Hashable, float] | None = None) -> Standing:
    """The standing by the values of the final runs, of each contender by seed; of those that diverged, nan.

    luck: of each contender, the variance that its search adds.  A t-test decides: with five seeds the permutation test
    cannot go below 1/16.
    """
    best, luck = best_group(finals, higher_is_better=True), luck or {}
    pairs = [pair for pair in combinations(finals, 2) if paired(finals[pair[0]], finals[pair[1]])[0]]
    found = [compare_paired(*paired(finals[a], finals[b])) for a, b in pairs]
    tests = {
        "p": holm(
            [with_luck(one, luck.get(a, 0.0) + luck.get(b, 0.0)) for (a, b), one in zip(pairs, found, strict=True)]
        ),
        "p_t": holm([one.p_t for one in found]),
        "p_permutation": [one.p_permutation for one in found],
    }
    others = [(number, b if a == best else a) for number, (a, b) in enumerate(pairs) if best in (a, b)]
    return Standing(best, **{test: {name: ps[number] for number, name in others} for test, ps in tests.items()})


def with_luck(comparison: Comparison, variance: float) -> float:
    """The two-sided p-value of t = d / sqrt(sd^2 / n + variance) with n - 1 degrees of freedom; without luck it is the
    paired t-test."""
    n, spread = comparison.n, comparison.sd**2 / comparison.n + variance
    if n < 2 or not spread > 0:
        return comparison.p_t
    return float(2 * stdtr(n - 1, -abs(comparison.difference) / math.sqrt(spread)))


def luck_of_search(scores: Sequence[float], examples: int, sd: float) -> float:
    """The variance that a search adds to the mean of the final runs: with another validation set another setting might
    have been chosen.

    It is the variance of the chosen trial's score when every score is drawn anew about itself, with the variance of a
    share p of so many examples, p (1 - p) / examples, and that of a run over seeds, sd^2.  The scores spread wider than
    the accuracies behind them, so it is rather too large.

    scores: of the finished trials.  examples: of the validation set.
    """
    given = np.asarray(scores, dtype=float)
    if len(given) < 2 or examples < 1:
        return 0.0
    noise = np.sqrt(given * (1 - given) / examples + (sd**2 if math.isfinite(sd) else 0.0))
    drawn = np.random.default_rng(0).normal(given, noise, (DRAWS, len(given)))
    return float(given[drawn.argmax(axis=1)].var())


@dataclass(frozen=True)
class RobustRange:
    """The values of a setting whose trials scored within a point of the best.

    width: from the least to the largest of them, in decades, or for a setting on a linear scale as their difference.
    trials: how many they are.  Values in between may have scored less, because the other settings differ, too.
    """

    low: float
    high: float
    width: float
    trials: int


def robust_range(values: Sequence[float], scores: Sequence[float], *, log: bool, within: float = POINT) -> RobustRange:
    """Of trials with these values and scores; those that failed, diverged or were stopped are left out beforehand."""
    if not scores:
        return RobustRange(NAN, NAN, NAN, 0)
    best = max(scores)
    near = [value for value, score in zip(values, scores, strict=True) if score >= best - within - ROUNDING]
    low, high = min(near), max(near)
    return RobustRange(low, high, math.log10(high / low) if log else high - low, len(near))
