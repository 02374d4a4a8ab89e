"""Groups compared over several data sets: wins and losses, and differences in rank.

Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from scipy.stats import binomtest, friedmanchisquare, studentized_range

LEVEL = 0.05
ENOUGH_DATASETS = 10  # for the chi-square distribution of Friedman's statistic, as Demsar recommends


@dataclass(frozen=True)
class SignTest:
    """On how many data sets a is better than b, worse, and equal; p of the two-sided sign test, without ties."""

    wins: int
    losses: int
    ties: int
    p: float


def sign_test(a: Sequence[float], b: Sequence[float], *, higher_is_better: bool = True) -> SignTest:
    """Count wins and losses of a against b, one pair of values per data set.

    A data set with a non-finite value counts as neither.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if math.isfinite(x) and math.isfinite(y)]
    greater, less = sum(x > y for x, y in pairs), sum(x < y for x, y in pairs)
    wins, losses = (greater, less) if higher_is_better else (less, greater)
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return SignTest(wins, losses, len(pairs) - wins - losses, p)


@dataclass(frozen=True)
class Friedman:
    """Friedman's test that all groups are equal, from their ranks on each data set.

    ranks: each group's mean rank, 1 is best; critical_difference: Nemenyi's, of mean ranks; datasets: those on which
    every group has a value; left_out: the others; limits: what too few of them cannot support.
    """

    statistic: float
    p: float
    ranks: dict[str, float]
    critical_difference: float
    datasets: int
    left_out: tuple[str, ...]
    limits: tuple[str, ...]


def friedman(scores: pd.DataFrame, *, higher_is_better: bool = True) -> Friedman:
    """Compare three groups or more over data sets: one row per data set, one column per group."""
    complete = scores[scores.map(math.isfinite).all(axis=1)] if len(scores) else scores
    datasets, groups = complete.shape
    ranks = complete.rank(axis=1, ascending=not higher_is_better).mean()
    statistic, p = float("nan"), float("nan")
    if datasets > 1 and groups > 2:
        different = complete.nunique(axis=1).max() > 1
        statistic, p = friedmanchisquare(*(complete[name] for name in complete)) if different else (0.0, 1.0)
    return Friedman(
        float(statistic),
        float(p),
        {str(name): float(rank) for name, rank in ranks.items()},
        nemenyi_critical_difference(groups, datasets),
        datasets,
        tuple(str(name) for name in scores.index.difference(complete.index, sort=False)),
        tuple(friedman_limits(groups, datasets)),
    )


def friedman_limits(groups: int, datasets: int) -> list[str]:
    if groups < 3:
        return [f"Friedman's test takes three groups, here are {groups}: see the sign test"]
    if datasets < 2:
        return [f"ranks on {datasets} data set{'s' * (datasets != 1)} cannot be tested"]
    if datasets < ENOUGH_DATASETS:
        return [f"{datasets} data sets are few for Friedman's and Nemenyi's tests, whose p-values hold for many"]
    return []


def nemenyi_critical_difference(groups: int, datasets: int, level: float = LEVEL) -> float:
    """By how much two groups' mean ranks must differ: q sqrt(k (k + 1) / (6 N)).

    q: the quantile of the studentized range of k groups, divided by sqrt(2).  nan for a single group or no data set.
    """
    if groups < 2 or datasets < 1:
        return float("nan")
    q = float(studentized_range.ppf(1 - level, groups, math.inf)) / math.sqrt(2)
    return q * math.sqrt(groups * (groups + 1) / (6 * datasets))
