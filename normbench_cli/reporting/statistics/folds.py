"""Two groups compared fold by fold.

The folds of a cross-validation train on mostly the same examples, so their differences vary less than on new data, and
a standard paired test has too many false positives.  Nadeau & Bengio, Inference for the Generalization Error, Machine
Learning 2003; for several cross-validations: Bouckaert & Frank, PAKDD 2004.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr


def corrected_t_p_value(differences: Sequence[float], folds: int) -> float:
    """The two-sided p-value of t = d / (sd sqrt(1/n + 1/(folds - 1))) with n - 1 degrees of freedom.

    differences: of one cross-validation or several, one per fold.  1 / (folds - 1) is the ratio of test to training
    examples.  nan for a single difference, or if all are equal but not zero, as for the paired t-test.
    """
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        return math.nan
    sd = float(values.std(ddof=1))
    if np.ptp(values) == 0:
        return math.nan if values[0] else 1.0
    return float(2 * stdtr(n - 1, -abs(float(values.mean())) / (sd * math.sqrt(1 / n + 1 / (folds - 1)))))
