"""One number for many data sets and seeds: the interquartile mean, with an interval valid for a few seeds.

Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice, NeurIPS 2021 (rliable).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit
from scipy.stats import bootstrap, trim_mean

Statistic = Callable[..., NDArray[np.float64]]  # of an array along `axis`


def interquartile_mean(values: ArrayLike, axis: int | None = None) -> NDArray[np.float64]:
    """The mean of the middle half: a quarter of the values, rounded down, is trimmed at either end.

    Values of several data sets are pooled, as in rliable.
    """
    return np.asarray(trim_mean(values, proportiontocut=0.25, axis=axis), dtype=float)


def bootstrap_interval(
    strata: Sequence[ArrayLike],
    statistic: Statistic = interquartile_mean,
    *,
    expanded: bool = True,
    resamples: int = 9999,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the 95 % stratified percentile bootstrap interval of a statistic over all strata.

    strata: the values of each data set, one value per seed along the last axis.  Every resample draws from each stratum
    as many values as it has, so runs on different data sets count as independent.  statistic: of all drawn values along
    ``axis``.

    expanded: False for rliable's interval, from the 2.5 % to the 97.5 % quantile of the resamples.  It is too narrow
    for a few seeds, because resamples of few values vary too little: for normal values and five seeds it covers the
    true one in 89 to 92 % of cases.  So the quantiles are taken further out (Hesterberg, What Teachers Should Know
    About the Bootstrap, 2015): Student's t replaces the normal distribution, and over several data sets of n seeds it
    is multiplied by sqrt(n / (n - 1)).  In simulations with 5 and 10 seeds and 1 to 5 data sets the interval then
    covers the true value in 94 to 97 % of cases.  With three seeds on one data set no such interval covers it in more
    than 75 %.
    """
    values = tuple(np.asarray(stratum, dtype=float) for stratum in strata)
    if min(stratum.shape[-1] for stratum in values) < 2:  # one value has no spread
        nothing = np.full(values[0].shape[:-1], np.nan)
        return nothing, nothing
    tail = expanded_tail([stratum.shape[-1] for stratum in values]) if expanded else 0.025
    found = bootstrap(
        values,
        lambda *drawn, axis: statistic(np.concatenate(drawn, axis=axis), axis=axis),
        confidence_level=1 - 2 * tail,
        method="percentile",
        vectorized=True,
        axis=-1,
        n_resamples=resamples,
        batch=max(1, 1_000_000 // sum(stratum.size for stratum in values)),
        rng=np.random.default_rng(seed),
    )
    return found.confidence_interval.low, found.confidence_interval.high


def expanded_tail(sizes: Sequence[int]) -> float:
    """The fraction of resamples to leave out at either end, for strata of these sizes; see `bootstrap_interval`."""
    quantile = stdtrit(sum(sizes) - len(sizes), 0.025)
    least = min(sizes)
    return float(ndtr(quantile * (math.sqrt(least / (least - 1)) if len(sizes) > 1 else 1)))
