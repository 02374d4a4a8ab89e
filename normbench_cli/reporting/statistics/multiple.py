"""Many tests in one table: p-values that control the family-wise error rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from statsmodels.stats.multitest import multipletests


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the chance that any true null hypothesis has a p-value <= a is at most a.

    A nan p-value belongs to no test: it stays nan and is not counted.
    """
    given = np.asarray(p_values, dtype=float)
    tested = ~np.isnan(given)
    if tested.any():
        given = given.copy()
        given[tested] = multipletests(given[tested], method="holm")[1]
    return [float(p) for p in given]
