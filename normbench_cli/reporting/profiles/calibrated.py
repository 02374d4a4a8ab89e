"""The ratio of one contender's times in two separate profiles."""

from __future__ import annotations

import math

import numpy as np

from normbench_cli.reporting.profiles.recorded import Samples

MOST_PAIRS = 1_000_000


def ratio_between(now: Samples, then: Samples) -> tuple[float, float, float]:
    """The median of the ratios of all pairs of rounds, with the 95 % interval of Mann and Whitney's test.

    The noise may have any distribution, if it is the same in both.  Times are in units of the calibration if both
    profiles recorded it.
    """
    calibrated = len(now.calibration) and len(then.calibration)
    own, base = (thinned(side.calibrated if calibrated else side.times) for side in (now, then))
    ratios = np.sort(np.divide.outer(own, base).ravel())
    pairs = len(ratios)
    beyond = math.floor(pairs / 2 - 1.96 * math.sqrt(pairs * (len(own) + len(base) + 1) / 12))
    low, high = (ratios[beyond], ratios[pairs - 1 - beyond]) if beyond > 0 else (ratios[0], ratios[-1])
    return float(np.median(ratios)), float(low), float(high)


def thinned(samples: np.ndarray) -> np.ndarray:
    """An evenly spaced subset, small enough for all pairs to be compared."""
    most = math.isqrt(MOST_PAIRS)
    return samples if len(samples) <= most else samples[np.linspace(0, len(samples) - 1, most).astype(int)]


def speed_ratio(now: Samples, then: Samples) -> float:
    """How much longer the calibration took: above 1 the machine is slower now; nan if unknown."""
    if not (len(now.calibration) and len(then.calibration)):
        return math.nan
    return float(np.median(now.calibration) / np.median(then.calibration))
