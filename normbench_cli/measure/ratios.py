"""The ratio of two contenders' times, round by round, and its uncertainty.

The order of contenders is shuffled in each round, so two equally fast ones are exchangeable.  Whatever happens to the
machine (a drift, another program for half of the time) slows down either of them with the same probability,
independently in every round.  So the rounds' ratios are above or below 1 like coin tosses, and need no correction for
autocorrelation between rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

BOOTSTRAPS = 2000
OUTLYING = 14.826  # median absolute deviations; ten standard deviations of a normal distribution, as in hyperfine

Samples: TypeAlias = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Ratio:
    """Contender over reference: the median of the rounds' ratios, with a 95 % interval."""

    median: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Width of the interval, as a fraction of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def paired_ratio(contender: Samples, reference: Samples, seed: int = 0) -> Ratio:
    """Compare the two round by round, as a slowdown of the machine affects both times of a round.

    The interval is the bootstrap's, but never narrower than that between the order statistics of a sign test: with 20
    rounds, the bootstrap alone covers the median in 93 of 100 cases, the two together in 95 or more.
    """
    ratios = np.sort(np.array(contender) / np.array(reference))
    medians = np.median(np.random.default_rng(seed).choice(ratios, (BOOTSTRAPS, len(ratios))), axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    beyond = rounds_beyond(len(ratios))
    return Ratio(
        float(np.median(ratios)),
        min(float(low), float(ratios[beyond])),
        max(float(high), float(ratios[len(ratios) - 1 - beyond])),
    )


def rounds_beyond(rounds: int) -> int:
    """How many ratios lie outside the interval on each side: the largest k for which k or fewer heads in `rounds` coin
    tosses have a probability of at most 2.5 %; 0 if even zero heads are more probable than that."""
    cases = cumulative = 1
    count = 0
    while 40 * cumulative <= 2**rounds:  # in integers, which cannot overflow
        count += 1
        cases = cases * (rounds - count + 1) // count
        cumulative += cases
    return max(0, count - 1)


def count_outliers(samples: Iterable[float]) -> int:
    """Count samples more than 14.826 median absolute deviations from the median.  They are not removed."""
    values = np.array(list(samples))
    distances = np.abs(values - np.median(values))
    return int((distances > OUTLYING * np.median(distances)).sum())
