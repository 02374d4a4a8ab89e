"""The band of values that a history predicts: its median, and a width from its median absolute deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.nightly.gate.policy import BAND, MEDIAN_VARIANCE, NARROWS, USUAL_WEIGHT, WINDOW, Policy

MAD_TO_SD = 1.4826  # of a normal distribution


def median(values: Sequence[float]) -> float:
    """Like numpy's, but twenty times as fast for a few numbers; infinities are ordinary large numbers."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2 or ordered[half - 1] == ordered[half]:
        return ordered[half]
    return ordered[half - 1] / 2 + ordered[half] / 2


@dataclass(frozen=True, slots=True)
class Band:
    """expected +- limit.  noise: the robust standard deviation between nights.  variance: of `expected` as an estimate.
    smallest: the smallest change that counts."""

    expected: float
    limit: float
    noise: float
    variance: float = 0.0
    smallest: float = 0.0

    @property
    def low(self) -> float:
        return self.expected - self.limit

    @property
    def high(self) -> float:
        return self.expected + self.limit


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """The value at which half of the weight is reached."""
    ordered = sorted(zip(values, weights, strict=True))
    half, reached = sum(weights) / 2, 0.0
    for index, (value, weight) in enumerate(ordered):
        reached += weight
        if reached > half:
            return value
        if reached == half and index + 1 < len(ordered):
            following = ordered[index + 1][0]
            return value if value == following else value / 2 + following / 2
    return ordered[-1][0]


def band_of(
    values: Sequence[float],
    policy: Policy,
    residuals: Sequence[float] = (),
    estimates: Sequence[tuple[float, float]] | None = None,
) -> Band:
    """The band around the last nights' values; residuals of earlier levels add to the noise estimate.

    estimates: (estimate, weight) of each night, for the center.
    """
    values = values[-WINDOW:]
    expected = weighted_median(*zip(*estimates[-WINDOW:], strict=True)) if estimates else median(values)
    if math.isinf(expected):
        return Band(expected, 0.0, 0.0)
    known = [abs(value - expected) for value in values]
    known += [abs(value) for value in residuals[len(values) - WINDOW :]] if len(values) < WINDOW else []
    seen = MAD_TO_SD * median(known)
    count = len(known)
    shares = math.sqrt(count) * seen, math.sqrt(USUAL_WEIGHT) * policy.usual(expected)
    noise = math.hypot(*shares) / math.sqrt(count + USUAL_WEIGHT)
    width = noise * (1 + (NARROWS / len(values)) ** 2)
    smallest = policy.smallest(expected)
    limit = max(smallest, BAND * width)
    weight = sum(weight for _, weight in estimates[-WINDOW:]) if estimates else len(values)
    return Band(expected, limit, noise, MEDIAN_VARIANCE * width * width / weight, smallest)
