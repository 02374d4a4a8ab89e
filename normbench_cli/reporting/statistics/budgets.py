"""The best score that a search of a given size is expected to find, from the scores of one larger search.

Dodge et al., Show Your Work: Improved Reporting of Experimental Results, EMNLP 2019; without replacement: Tang et al.,
Showing Your Work Doesn't Always Work, ACL 2020, who show that the estimate with replacement is too low.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

RESAMPLES = 2000


def expected_best(scores: Sequence[float], *, replacement: bool = False) -> NDArray[np.float64]:
    """The expected best of n scores for n = 1, 2, ..., all of them.

    With v_1 <= ... <= v_N, without replacement, i.e. for n distinct scores of the N, each set equally likely:

        E = sum_i v_i C(i - 1, n - 1) / C(N, n)

    and with replacement E = sum_i v_i ((i / N)^n - ((i - 1) / N)^n).  Both are exact for the scores given.
    """
    found: NDArray[np.float64] = weights(len(scores), replacement) @ np.sort(np.asarray(scores, dtype=float))
    return found


def expected_best_interval(
    scores: Sequence[float], *, replacement: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the 95 % percentile bootstrap interval of `expected_best` for each n: other searches of this size are
    simulated by drawing from the scores with replacement.  It cannot exceed the best score."""
    given = np.asarray(scores, dtype=float)
    drawn = np.random.default_rng(seed).choice(given, (resamples, len(given)))
    found = np.sort(drawn, axis=1) @ weights(len(given), replacement).T
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return low, high


def weights(count: int, replacement: bool) -> NDArray[np.float64]:
    """(n, i): the probability that the i-th smallest of `count` scores is the best of n drawn."""
    n, i = np.arange(1, count + 1)[:, None], np.arange(1, count + 1)[None, :]
    if replacement:
        return (i / count) ** n - ((i - 1) / count) ** n
    possible = i >= n
    rest = np.where(possible, i - n, 0)
    chances = np.exp(log_choose(np.maximum(i - 1, n - 1), n - 1, rest) - log_choose(count, n, count - n))
    return np.where(possible, chances, 0.0)


def log_choose(total: NDArray[np.int64] | int, part: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.float64]:
    """log C(total, part), where rest = total - part."""
    found: NDArray[np.float64] = gammaln(np.asarray(total) + 1.0) - gammaln(part + 1.0) - gammaln(rest + 1.0)
    return found
