"""The band of values that a history makes one expect: its median, and a width from its median absolute deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.nightly.gate.policy import BAND, NARROWS, USUAL_WEIGHT, WINDOW, Policy

MAD_TO_SD = 1.4826  # of a normal distribution


def median(values: Sequence[float]) -> float:
    """Like numpy's for a few numbers, where it is twenty times as fast; infinities are ordinary large numbers."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2 or ordered[half - 1] == ordered[half]:
        return ordered[half]
    return ordered[half - 1] / 2 + ordered[half] / 2


@dataclass(frozen=True, slots=True)
class Band:
    """expected +- limit.  noise: the robust standard deviation between nights."""

    expected: float
    limit: float
    noise: float

    @property
    def low(self) -> float:
        return self.expected - self.limit

    @property
    def high(self) -> float:
        return self.expected + self.limit


def band_of(values: Sequence[float], policy: Policy, residuals: Sequence[float] = ()) -> Band:
    """The band around the last nights' values; residuals of earlier levels tell about the noise as well."""
    values = values[-WINDOW:]
    expected = median(values)
    if math.isinf(expected):
        return Band(expected, 0.0, 0.0)
    known = [abs(value - expected) for value in values]
    known += [abs(value) for value in residuals[len(values) - WINDOW :]] if len(values) < WINDOW else []
    seen = MAD_TO_SD * median(known)
    count = len(known)
    shares = math.sqrt(count) * seen, math.sqrt(USUAL_WEIGHT) * policy.usual(expected)
    noise = math.hypot(*shares) / math.sqrt(count + USUAL_WEIGHT)
    limit = max(policy.smallest(expected), BAND * noise * (1 + (NARROWS / len(values)) ** 2))
    return Band(expected, limit, noise)
