"""The evidence of a night: its estimate, how far chance may move that, and what several nights say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.nightly.gate.band import Band, median
from normbench_cli.nightly.gate.policy import (
    BEYOND,
    BEYOND_ALONE,
    CERTAIN,
    CERTAIN_DEVIATIONS,
    FIRST_REMEASUREMENTS,
    HEAVIEST,
    LEAST_RAISED,
    MEDIAN_VARIANCE,
    NIGHTS_IN_A_ROW,
    NOISE_WEIGHT,
    REMEASUREMENTS,
    SAME_NOISE,
    SETTLED,
    TYPICAL_REPETITIONS,
    VERY_FAR,
)

MEAN_TO_SD = math.sqrt(math.pi / 2)  # the mean absolute deviation of a normal distribution


@dataclass(frozen=True, slots=True)
class Night:
    """estimate: the median of the night's value and its repetitions; variance: of the estimate.  weight: in the
    reference; 1 for an ordinary night that was not measured again.  noise: as a multiple of the usual."""

    index: int
    value: float
    estimate: float
    variance: float
    repeated: bool
    weight: float = 1.0
    noise: float = 1.0


def spread_of(again: Sequence[float]) -> float | None:
    """The standard deviation of repetitions within a night; None if there are too few or one is infinite."""
    if len(again) < FIRST_REMEASUREMENTS:
        return None
    middle = median(again)
    if math.isinf(middle) or any(map(math.isinf, again)):
        return None
    count = len(again)
    return MEAN_TO_SD * sum(abs(value - middle) for value in again) / math.sqrt(count * (count - 1))


def night_of(
    index: int, value: float, again: Sequence[float], usual: float, spreads: Sequence[float], noise: float = 1.0
) -> Night:
    """usual: the noise between nights.  spreads: within earlier nights that were repeated.  noise: of this night, as a
    multiple of the usual.

    Repetitions do not average out variation between nights beyond that within them.
    """
    own, between = usual * usual, 0.0
    if not again:
        return Night(index, value, value, own * noise * noise, False, 1.0 / (noise * noise), noise)
    spread, repeated = spread_of(again), len(again) >= FIRST_REMEASUREMENTS
    if spread is not None:
        within = median([*spreads, spread / noise])
        between = own - within * within if usual > SAME_NOISE * within else 0.0
        own = (own - between + within * within) / 2 * noise * noise
        own = (NOISE_WEIGHT * own + len(again) * spread * spread) / (NOISE_WEIGHT + len(again))
    else:
        own *= noise * noise
    variance = MEDIAN_VARIANCE * own / (1 + len(again)) + between
    weight = min(HEAVIEST, usual * usual / variance) if 0 < variance < math.inf else 1.0
    return Night(index, value, median([value, *again]), variance, repeated, weight or 1.0, noise)


def is_open(night: Night, again: Sequence[float], band: Band) -> bool:
    """Whether more repetitions are needed to decide if a night lies outside a band."""
    if len(again) < FIRST_REMEASUREMENTS:
        return True
    side = side_of(night, band)
    if not side or len(again) >= REMEASUREMENTS:
        return False
    if min(side * (repeated - band.expected) for repeated in again) > VERY_FAR * band.limit:
        return False
    return len(again) < TYPICAL_REPETITIONS or not is_certain([night], band, side)


def side_of(night: Night, band: Band) -> int:
    """1 if the estimate lies above the band, -1 below, 0 inside."""
    return (night.estimate > band.high) - (night.estimate < band.low)


def deviations(nights: Sequence[Night], band: Band, direction: int) -> tuple[float, float]:
    """The mean deviation of nights from the expected value, and that in standard errors."""
    off = direction * (sum(night.estimate for night in nights) / len(nights) - band.expected)
    if math.isnan(off):  # infinite, as expected
        return 0.0, 0.0
    chance = math.sqrt(sum(night.variance for night in nights) / len(nights) ** 2 + band.variance)
    return off, off / chance if chance else math.copysign(math.inf, off)


def is_certain(nights: Sequence[Night], band: Band, direction: int) -> bool:
    """Whether nights together lie outside the band by more than chance."""
    off, in_deviations = deviations(nights, band, direction)
    least = BEYOND if len(nights) > 1 else BEYOND_ALONE
    return off > max(band.limit, least * band.smallest) and in_deviations >= CERTAIN_DEVIATIONS


def support(night: Night, band: Band, level: float) -> float:
    """The log-likelihood ratio of a raised level to the expected one, given a night.

    A value without repetitions is weak evidence: several such nights in a row are needed either way.
    """
    most = SETTLED + CERTAIN if night.repeated else (SETTLED - CERTAIN) / (NIGHTS_IN_A_ROW - 1)
    level = max(level, band.expected + LEAST_RAISED * band.smallest)
    if math.isinf(level) or math.isinf(night.estimate):
        return most if night.estimate >= level else -most
    estimate = min(max(night.estimate, band.expected), level)
    ratio = (level - band.expected) * (estimate - (band.expected + level) / 2)
    variance = night.variance + band.variance
    if math.isinf(variance) or math.isnan(ratio):
        return 0.0
    return min(max(ratio / variance, -most), most) if variance else math.copysign(most, ratio)
