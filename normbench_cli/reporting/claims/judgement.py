"""The verdict on a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "does not hold", "not enough evidence"]
LEVEL = 0.05


@dataclass(frozen=True)
class Judgement:
    """test: what was computed, with the numbers.  n: the number of pairs, runs or groups."""

    verdict: Verdict
    test: str
    n: int


def undecided(why: str, n: int = 0) -> Judgement:
    return Judgement("not enough evidence", why, n)


def within(low: float, high: float, least: float, most: float) -> Verdict:
    """Return the verdict on a quantity that should lie between two bounds, from its interval."""
    if math.isnan(low) or math.isnan(high):
        return "not enough evidence"
    if low > least and high < most:
        return "holds"
    return "does not hold" if high < least or low > most else "not enough evidence"
