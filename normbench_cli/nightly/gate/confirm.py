"""What the repeated measurements of a night say about a value outside of its band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from normbench_cli.nightly.gate.band import median
from normbench_cli.nightly.gate.policy import (
    AGREE,
    AGREE_IN_PART,
    BETWEEN_NIGHTS,
    FAR,
    FIRST_AGREE,
    FIRST_REMEASUREMENTS,
    REMEASUREMENTS,
    VERY_FAR,
)


class Vote(Enum):
    OPEN = "more repetitions are needed"
    REFUTED = "the repetitions lie inside"
    IN_PART = "most repetitions lie outside"
    CONFIRMED = "the repetitions lie outside"


def vote(again: Sequence[float], edge: float, direction: int, limit: float, far: float = FAR) -> Vote:
    """Count the repetitions beyond an edge, upwards (direction 1) or downwards (-1).

    limit: the distance of the edge from what is expected.  far: how far out the median of the repetitions must lie, in
    multiples of it, for one night to be enough.
    """
    beyond = [direction * (value - edge) for value in again]
    first = beyond[:FIRST_REMEASUREMENTS]
    outside, inside = sum(excess > 0 for excess in beyond), sum(excess <= 0 for excess in beyond)
    if len(first) == FIRST_REMEASUREMENTS:
        if min(first) > (VERY_FAR - 1) * limit:
            return Vote.CONFIRMED
        if sum(excess > 0 for excess in first) < FIRST_AGREE:
            return Vote.REFUTED
    if inside > REMEASUREMENTS - AGREE_IN_PART:
        return Vote.REFUTED
    if outside >= AGREE:
        return Vote.CONFIRMED if median(beyond) > (far - 1) * limit else Vote.IN_PART
    return Vote.OPEN if len(beyond) < REMEASUREMENTS else Vote.IN_PART


def counts_in_part(outcome: Vote, again: Sequence[float], edge: float, direction: int) -> bool:
    """Whether the night is evidence together with another one; a few repetitions count if all lie outside."""
    if outcome is Vote.OPEN and len(again) >= FIRST_REMEASUREMENTS:
        return all(direction * (value - edge) > 0 for value in again)
    return outcome in (Vote.IN_PART, Vote.CONFIRMED)


def between_nights(again: Sequence[float], noise: float) -> float:
    """How far a night lies off by chance although its repetitions agree.

    noise**2 is the variance within nights and between them; the repetitions show the first part.
    """
    if len(again) < 2 or not all(map(math.isfinite, again)):
        return 0.0
    mean = sum(again) / len(again)
    within = math.dist(again, [mean] * len(again)) / math.sqrt(len(again) - 1)
    return BETWEEN_NIGHTS * math.sqrt((noise - within) * (noise + within)) if within < noise else 0.0
