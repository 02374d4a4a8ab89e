"""The verdict on a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["holds", "does not hold", "not enough evidence"]
LEVEL = 0.05


class Estimate(NamedTuple):
    """A quantity that a claim bounds, with its 95 % interval, which is nan for a single pair."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Judgement:
    """test: what was computed, with the numbers.  n: the number of pairs, runs or groups.  estimate: None if the claim
    is not about one quantity, such as an order of several groups."""

    verdict: Verdict
    test: str
    n: int
    estimate: Estimate | None = None


def undecided(why: str, n: int = 0) -> Judgement:
    return Judgement("not enough evidence", why, n)


def within(low: float, high: float, least: float, most: float) -> Verdict:
    """Return the verdict on a quantity that should lie between two bounds, from its interval."""
    if math.isnan(low) or math.isnan(high):
        return "not enough evidence"
    if low > least and high < most:
        return "holds"
    return "does not hold" if high < least or low > most else "not enough evidence"


def claimed(least: float, most: float) -> str:
    """What a claim says of its quantity: between two bounds, of which one may be infinite."""
    if math.isinf(most):
        return f"claimed above {least:.4g}"
    return f"claimed below {most:.4g}" if math.isinf(least) else f"claimed {least:.4g} to {most:.4g}"
