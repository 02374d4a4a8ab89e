"""Figures of mean ranks over data sets, with the critical difference of the Nemenyi test (Demsar 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting import statistics
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures.groups import labels_of, summarized, usual_metric, values_of
from normbench_cli.reporting.figures.query import PlotQuery
from normbench_cli.reporting.plots.numbers import higher_is_better
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store


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
        table = means.pivot(index=across, columns="group", values="mean")
        found = statistics.friedman(table, higher_is_better=higher_is_better(metric))
        if found.datasets < 2 or table.shape[1] < 2:
            raise NothingMeasured(
                f"a ranking needs two groups or more that were all measured on two values of {across} or more",
                "--plot critical_difference:across=SETTING takes another setting than data",
            )
        points = pd.DataFrame({"group": list(found.ranks), "rank": list(found.ranks.values())})
        points = points.assign(runs=points["group"].map(means.groupby("group")["runs"].sum())).sort_values("rank")
        called = "data sets" if across == "data" else f"values of {across}"
        options = {"metric": metric, "n": found.datasets, "across": called, "cd": found.critical_difference}
        options |= {} if math.isnan(found.p) else {"p": found.p}
        name = f"critical-difference-{metric}"
        yield Figure(f"Ranks by {metric}", name, "critical_difference", points, options, found.limits)
