"""What a tuning shows of its contenders: which is best on fresh seeds, and how much the learning rate matters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from normbench_cli.reporting.statistics.groups import Seeds, best_group, paired
from normbench_cli.reporting.statistics.multiple import holm
from normbench_cli.reporting.statistics.paired import LEVEL, NAN, compare_paired

POINT = 0.01  # one per cent of accuracy
ROUNDING = 1e-9


@dataclass(frozen=True)
class Standing:
    """best: the contender with the best mean of its final runs, None if none has a value.

    p_t: of each other, the paired t-test against the best, after Holm's correction over all pairs of contenders,
    because which one is best is known only afterwards.  p_permutation: the sign-flip test, not corrected.
    """

    best: Hashable | None
    p_t: Mapping[Hashable, float]
    p_permutation: Mapping[Hashable, float]

    def is_tie(self, name: Hashable) -> bool:
        """Whether the test does not tell a contender from the best."""
        return not self.p_t.get(name, NAN) <= LEVEL


def stand(finals: Mapping[Hashable, Seeds]) -> Standing:
    """The standing by the values of the final runs, of each contender by seed; of those that diverged, nan.

    The paired t-test decides: with five seeds the permutation test cannot go below 1/16.
    """
    best = best_group(finals, higher_is_better=True)
    pairs = [pair for pair in combinations(finals, 2) if paired(finals[pair[0]], finals[pair[1]])[0]]
    found = [compare_paired(*paired(finals[a], finals[b])) for a, b in pairs]
    corrected = holm([one.p_t for one in found])
    others = {
        (b if a == best else a): (p, one.p_permutation)
        for (a, b), one, p in zip(pairs, found, corrected, strict=True)
        if best in (a, b)
    }
    return Standing(best, {name: p for name, (p, _) in others.items()}, {name: p for name, (_, p) in others.items()})


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
