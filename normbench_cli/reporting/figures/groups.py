"""Shared by all kinds of figures: names of groups, runs left out of a mean, values of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from normbench_cli.registry.spec import suggest
from normbench_cli.reporting.curves import label
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.selection import Selection
from normbench_cli.reporting.statistics import summarize
from normbench_cli.reporting.tables import UNFINISHED
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame

USUAL = ("test/accuracy", "validation/accuracy@curve_best", "train/loss")


def labels_of(selection: Selection, without: Sequence[str] = ()) -> dict[int, str]:
    """The name of each group: the settings that distinguish the groups."""
    shown = [name for name in selection.shown if name not in without]
    return {int(group): label(row, shown) for group, row in selection.groups.iterrows()}


def unfinished(selection: Selection, without: Sequence[str] = ()) -> dict[str, str]:
    """The groups with runs that did not finish, and how many: ``{"none": "2 diverged"}``."""
    labels, found = labels_of(selection, without), dict[str, str]()
    counts = selection.groups[list(UNFINISHED)].astype(int).groupby(labels).sum()
    for name, row in counts.iterrows():
        if text := ", ".join(f"{count} {status}" for status, count in row.items() if count):
            found[str(name)] = text
    return found


def group_options(selection: Selection, without: Sequence[str] = ()) -> dict[str, Any]:
    """The options of a figure that list its groups, and the runs that are left out."""
    groups = list(dict.fromkeys(labels_of(selection, without).values()))
    return {"groups": groups, "unfinished": unfinished(selection, without)}


def values_of(store: Store, selection: Selection, metric: str) -> pd.DataFrame:
    """Columns id, group, value and the settings: the last value of a metric in each finished run that has it."""
    finished = selection.finished
    values = metrics_frame(store, finished["id"].tolist(), [metric])
    if values.empty:
        names = sorted(set(metrics_frame(store, finished["id"].tolist())["metric"]))
        raise NothingMeasured(f"no finished run has the metric '{metric}'", suggest(metric, names))
    found = finished.merge(values[["run_id", "value"]], left_on="id", right_on="run_id")
    return found.sort_values(["group", "seed"], kind="stable", ignore_index=True)


def summarized(values: pd.DataFrame, keys: Sequence[str], value: str = "value") -> pd.DataFrame:
    """Columns keys, mean, sd, n, runs: a row for each combination of keys that has values."""
    rows = []
    for key, part in values.groupby(list(keys), sort=False):
        found = summarize(part[value].tolist())
        statistics = {"mean": found.mean, "sd": found.sd, "n": found.n}
        rows.append(dict(zip(keys, key, strict=True)) | statistics | {"runs": tuple(part["id"])})
    return pd.DataFrame(rows, columns=[*keys, "mean", "sd", "n", "runs"])


def usual_metric(
    store: Store, selection: Selection, metrics: Sequence[str], preferred: Sequence[str] = USUAL
) -> list[str]:
    """The requested metrics, or the first of the usual ones that is recorded."""
    if metrics:
        return list(metrics)
    recorded = set(metrics_frame(store, selection.finished["id"].tolist(), preferred)["metric"])
    return [name for name in preferred if name in recorded][:1] or [preferred[0]]
