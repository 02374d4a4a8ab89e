"""Sequential decisions by repeated measurements: on which side of zero does the median of the rounds lie?

Each round gives one number.  The bootstrap distribution of a median needs no random numbers: a resampled median is
below zero if at least half of the n draws are, and each draw is below zero with probability k/n, where k of the n
rounds are.  So the interval excludes zero as soon as P(Binomial(n, k/n) >= n/2) is below its tail.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, comb


@dataclass(frozen=True)
class Rule:
    """Stopping rule: at least `least` rounds, then a check every `every` rounds, at most `most`."""

    confidence: float
    least: int
    most: int
    every: int = 1


# Simulated with a robust sd of 3 % and heavy tails (tests/nightly/bisect/test_simulated.py): equal ends are declared
# different in about 1 % of cases; a commit 5 % from the middle needs 9 rounds.
DIFFERENT = Rule(confidence=0.999, least=10, most=30, every=5)
NEARER = Rule(confidence=0.98, least=5, most=40)
ONCE = Rule(confidence=0.5, least=1, most=1)  # for deterministic values


def decide(measure_round: Callable[[], float], rule: Rule) -> tuple[int, list[float]]:
    """Return -1 or 1, the certain side of zero, or 0 if it stays uncertain; and the rounds' values."""
    rounds: list[float] = []
    while len(rounds) < rule.most:
        rounds.append(measure_round())
        looked_at = len(rounds) >= rule.least and (len(rounds) - rule.least) % rule.every == 0
        if looked_at and (side := certain_side(rounds, rule.confidence)):
            return side, rounds
    return 0, rounds


def certain_side(rounds: Sequence[float], confidence: float) -> int:
    """The side on which the bootstrap interval of the median lies, or 0 if zero is inside."""
    tail = (1 - confidence) / 2
    for side in (-1, 1):
        others = sum(value * side <= 0 for value in rounds)
        if at_least_half(len(rounds), others) <= tail:
            return side
    return 0


@cache
def at_least_half(n: int, k: int) -> float:
    """P(Binomial(n, k/n) >= n/2)."""
    p = k / n
    return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(ceil(n / 2), n + 1))


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """The median with its bootstrap interval, whose ends are measured values."""
    ordered, n = sorted(values), len(values)
    tail = (1 - confidence) / 2
    low = next((value for rank, value in enumerate(ordered, 1) if at_least_half(n, rank) > tail), ordered[0])
    high = next((value for rank, value in enumerate(ordered[::-1], 1) if at_least_half(n, rank) > tail), ordered[-1])
    return statistics.median(ordered), low, high
