"""Mean, standard deviation and confidence interval of a few numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

NAN = float("nan")


@dataclass(frozen=True)
class Summary:
    """``sd`` is the sample standard deviation (ddof=1); ``ci95_*`` the 95 % interval of the mean by Student's t.

    Both are nan for a single number.  Non-finite numbers are not left out: they show in the mean.
    """

    mean: float
    sd: float
    n: int
    min: float
    max: float
    ci95_low: float
    ci95_high: float


def summarize(values: Sequence[float]) -> Summary:
    n = len(values)
    if n == 0:
        raise ValueError("nothing to summarize")
    if any(math.isnan(value) for value in values):
        return Summary(NAN, NAN, n, NAN, NAN, NAN, NAN)
    low, high = min(values), max(values)
    if math.isinf(low) or math.isinf(high):
        return Summary(sum(values), NAN, n, low, high, NAN, NAN)
    # divide each first, so that the sum cannot overflow; clamp, because rounding may leave the range
    mean = min(max(math.fsum(value / n for value in values), low), high)
    if n == 1:
        return Summary(mean, NAN, n, low, high, NAN, NAN)
    scale = (high - low) or 1.0
    sd = scale * math.sqrt(math.fsum(((value - mean) / scale) ** 2 for value in values) / (n - 1))
    half = t_quantile(n - 1) * sd / math.sqrt(n)
    return Summary(mean, sd, n, low, high, mean - half, mean + half)


@cache
def t_quantile(degrees: int) -> float:
    """The 0.975 quantile of Student's t."""
    from scipy.special import stdtrit  # scipy.stats has it too, but takes four times as long to load

    return float(stdtrit(degrees, 0.975))
