"""Times until something is reached, with runs that never reach it: Kaplan and Meier's estimate, the log-rank test.

A run that did not reach it by its end is censored: it counts as not reached up to then, and says nothing about later.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from statsmodels.duration.survfunc import survdiff

from normbench_cli.reporting.statistics.paired import NAN, compare_paired


@dataclass(frozen=True)
class Time:
    """When a run reached something, or how long it was observed without reaching it."""

    at: float
    reached: bool


@dataclass(frozen=True)
class TimeComparison:
    """test: how p was computed: the sign-flip permutation test of pairs if all runs reached it, otherwise log-rank."""

    p: float
    test: str


def kaplan_meier(times: Sequence[Time]) -> list[tuple[float, float]]:
    """The steps of the curve: a time, and the share of runs that have reached it by then.

    1 - S(t), S(t) = prod over the times t_j <= t at which d_j of the n_j runs at risk reached it of 1 - d_j / n_j
    """
    left, steps = 1.0, [(0.0, 0.0)]
    for moment in sorted({time.at for time in times if time.reached}):
        watched = sum(time.at >= moment for time in times)
        left *= 1 - sum(time.reached and time.at == moment for time in times) / watched
        steps.append((moment, 1 - left))
    return steps


def median_time(times: Sequence[Time]) -> float:
    """The time by which half of the runs have reached it; infinite if fewer did."""
    return next((moment for moment, share in kaplan_meier(times) if share >= 0.5 - 1e-12), math.inf)


def compare_times(a: Mapping[Hashable, Time], b: Mapping[Hashable, Time]) -> TimeComparison:
    """Compare the times of two groups, given by seed."""
    seeds = [seed for seed in a if seed in b]
    if len(seeds) > 1 and all(time.reached for group in (a, b) for time in group.values()):
        return TimeComparison(
            compare_paired([a[seed].at for seed in seeds], [b[seed].at for seed in seeds]).p_permutation, "paired"
        )
    return TimeComparison(log_rank([list(a.values()), list(b.values())]), "log-rank")


def log_rank(groups: Sequence[Sequence[Time]]) -> float:
    """The p-value of the log-rank test of equal times in all groups; nan if no run reached it or a group is empty."""
    times = [time for group in groups for time in group]
    if not any(time.reached for time in times) or min(map(len, groups)) == 0:
        return NAN
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    with np.errstate(all="ignore"):
        _, p = survdiff(np.array([t.at for t in times]), np.array([float(t.reached) for t in times]), labels)
    return float(p)
