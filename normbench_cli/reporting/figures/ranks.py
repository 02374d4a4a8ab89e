"""Figures of mean ranks over data sets, with the critical difference of the Nemenyi test (Demsar 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import labels_of, summarized, usual_metric, values_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.plots.numbers import higher_is_better
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store

LEVEL = 0.05


def make_ranks(store: Store, selection: Selection, plot: PlotQuery) -> Iterator[Figure]:
    across = plot.options.get("across", "data")
    if across not in FIELDS:
        raise UsageError(
            f"--plot critical_difference:across={across}: there is no such setting", suggest(across, list(FIELDS))
        )
    labels = labels_of(selection, [across])
    for metric in usual_metric(store, selection, plot.metrics):
        values = values_of(store, selection, metric)
        means = summarized(values.assign(group=values["group"].map(labels)), ["group", across])
        table = means.pivot(index=across, columns="group", values="mean").dropna()
        if len(table) < 2 or table.shape[1] < 2:
            raise NothingMeasured(
                f"a ranking needs two groups or more that were all measured on two values of {across} or more",
                "--plot critical_difference:across=SETTING takes another setting than data",
            )
        runs = means.groupby("group")["runs"].sum()
        points = pd.DataFrame({"group": table.columns, "rank": mean_ranks(table, metric)}).sort_values("rank")
        points = points.assign(runs=points["group"].map(runs))
        options = {"metric": metric, "n": len(table), "cd": critical_difference(table.shape[1], len(table))}
        name = f"critical-difference-{metric}"
        yield Figure(f"Ranks by {metric}", name, "critical_difference", points, options)


def mean_ranks(table: pd.DataFrame, metric: str) -> list[float]:
    """A row a data set, a column a group: the mean of each column's ranks, 1 the best; equal values share a rank."""
    ranks = table.rank(axis=1, ascending=not higher_is_better(metric))
    return [float(rank) for rank in ranks.mean()]


def critical_difference(groups: int, data_sets: int, level: float = LEVEL) -> float:
    """q sqrt(k (k + 1) / (6 N)), with q the quantile of the studentized range over sqrt(2)."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - level, groups, math.inf)) / math.sqrt(2)
    return q * math.sqrt(groups * (groups + 1) / (6 * data_sets))
