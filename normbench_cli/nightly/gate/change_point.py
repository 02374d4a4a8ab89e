"""The change point: the night at which the level of a noisy measurement changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import ruptures

from normbench_cli.nightly.gate.policy import WINDOW

# The test that found the change already dates it to the three nights that it combines.  A split into two levels is
# better from this many nights of the new level on; with fewer it often follows a few slow nights of the old level.
SETTLED = 4

# A split further away than this reflects something else, such as a drift.
FARTHEST = 4


def first_night(estimates: Sequence[float], start: int, begin: int = 0) -> int:
    """The index of the first night of a new level, whose change was detected near `start`.

    The split into two levels that minimizes the absolute deviations from their medians (ruptures, L1).  begin: where
    the level before began.
    """
    begin = max(begin, start - WINDOW)
    part = np.asarray(estimates[begin : start + WINDOW], dtype=float)
    if len(estimates) - start < SETTLED or start - begin < 2 or not np.isfinite(part).all():
        return start
    search = ruptures.Binseg(model="l1", min_size=1, jump=1).fit(part / (np.abs(part).max() or 1.0))
    found = begin + int(search.predict(n_bkps=1)[0])
    return found if abs(found - start) <= FARTHEST else start


def relative(estimate: float, expected: float) -> float:
    """estimate / expected - 1; NaN where this is undefined."""
    if not (math.isfinite(estimate) and math.isfinite(expected)) or expected == 0:
        return math.nan
    return estimate / expected - 1
