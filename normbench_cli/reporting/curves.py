"""A measurement over time: for each group, the mean and sd over its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.robustness import by_strength
from normbench_cli.reporting.selection import Selection
from normbench_cli.store import Store
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.queries import metrics_frame, series, series_names

MAX_POINTS = 400  # of a curve; a longer series is averaged over intervals of steps


def curve_points(store: Store, selection: Selection, name: str) -> pd.DataFrame:
    """Columns group (its label), at, unit_of_at (step, epoch or a parameter's name), mean, sd, n: for each group over
    its finished runs.

    A raw series (one value per step) takes precedence over values by epoch.  A metric under an attack or a corruption
    has neither; it is plotted against the strength.
    """
    finished = selection.finished
    found, unit = by_step(store, finished, name), "step"
    if found.empty:
        found, unit = by_epoch(store, finished, name), "epoch"
    if found.empty and "@" in name:
        found, unit = by_strength(store, finished, name)
    if found.empty:
        do = suggest(name, curve_names(store, finished))
        raise NothingMeasured(f"no finished run has a curve of '{name}'", do)
    labels = {group: label(row, selection.shown) for group, row in selection.groups.iterrows()}
    points = found.groupby(["group", "at"])["value"].agg(["mean", "std", "count"]).reset_index()
    points = points.rename(columns={"std": "sd", "count": "n"})
    points["group"] = points["group"].map(labels)
    return points.assign(unit_of_at=unit)


def by_step(store: Store, runs: pd.DataFrame, name: str) -> pd.DataFrame:
    parts = []
    for run in runs.itertuples():
        try:
            values = series(store, run.id, name)
        except DamagedValue as error:
            store.left_out[f"series {name} of run {run.id}"] = str(error.__cause__)
            continue
        if len(values):
            parts.append(downsample(values).dropna().assign(group=run.group))  # probes leave nan between their steps
    return pd.concat(parts) if parts else pd.DataFrame()


def downsample(values: pd.Series) -> pd.DataFrame:
    """At most MAX_POINTS points: the mean of each interval of steps, at the interval's last step (counted from 1)."""
    length = max(1, -(-len(values) // MAX_POINTS))
    interval = np.arange(len(values)) // length
    last_step = values.index.to_series().groupby(interval).last().to_numpy() + 1
    return pd.DataFrame({"at": last_step, "value": values.groupby(interval).mean()})


def by_epoch(store: Store, runs: pd.DataFrame, name: str) -> pd.DataFrame:
    values = metrics_frame(store, runs["id"].tolist(), [name], curve=True)
    joined = values.merge(runs[["id", "group"]], left_on="run_id", right_on="id")
    return joined.rename(columns={"epoch": "at"})[["group", "at", "value"]]


def curve_names(store: Store, runs: pd.DataFrame) -> list[str]:
    """The metrics and raw series that have a curve."""
    ids = runs["id"].tolist()
    recorded = set(metrics_frame(store, ids, curve=True)["metric"])
    return sorted(recorded.union(*(series_names(store, run_id) for run_id in ids[:1])))


def label(group: pd.Series, fields: Sequence[str]) -> str:
    return " ".join(format_value(group[field]) for field in fields) or "all"
