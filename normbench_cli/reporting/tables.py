"""DataFrame to DataFrame: selecting and grouping runs, summarizing the groups, and numbers as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from normbench_cli.config import IDENTITY
from normbench_cli.reporting.statistics import summarize
from normbench_cli.store.metric_names import unit_of
from normbench_cli.store.status import STATUSES, WITH_RESULT

UNFINISHED = tuple(sorted(set(STATUSES) - {"finished"}))  # runs with these are counted separately, not in the mean


def one_per_fingerprint(runs: pd.DataFrame) -> pd.DataFrame:
    """One run per fingerprint: the newest with a result, else the newest.  A repeated run is not a new seed."""
    newest = runs.assign(has_result=runs["status"].isin(WITH_RESULT)).sort_values(
        ["has_result", "started_at"], ascending=False, kind="stable"
    )
    return newest.drop_duplicates("fingerprint").drop(columns="has_result")


def varying_fields(runs: pd.DataFrame) -> list[str]:
    """The settings that affect a result and differ between runs, except the seed: seeds repeat a group."""
    return [name for name in IDENTITY if name != "seed" and runs[name].nunique(dropna=False) > 1]


def assign_groups(runs: pd.DataFrame, fields: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs with a column ``group``, and the groups: their fields, ``n`` finished runs, and a count per status."""
    keys = list(runs[list(fields)].itertuples(index=False, name=None)) if fields else [()] * len(runs)
    order = {key: number for number, key in enumerate(sorted(set(keys), key=sort_key))}
    runs = runs.assign(group=[order[key] for key in keys])
    groups = pd.DataFrame(list(order), columns=list(fields), index=range(len(order)), dtype=object)
    counts = pd.crosstab(runs["group"], runs["status"])
    groups["n"] = counts.get("finished", 0)
    for status in UNFINISHED:
        groups[status] = counts.get(status, 0)
    return runs, groups


def sort_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort None first, then numbers by size, then text."""

    def rank(value: Any) -> tuple[int, Any]:
        if value is None:
            return (0, 0)
        return (1, value) if isinstance(value, int | float) else (2, str(value))

    return tuple(rank(value) for value in key)


def summarize_groups(runs: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """One row per group and metric: mean, sd, n, min, max and the 95 % interval over the group's finished runs."""
    finished = runs.loc[runs["status"] == "finished", ["id", "group"]]
    joined = finished.merge(values, left_on="id", right_on="run_id")
    rows = [
        {"group": group, "metric": metric, **asdict(summarize(found.tolist()))}
        for (group, metric), found in joined.groupby(["group", "metric"], sort=True)["value"]
    ]
    columns = ["group", "metric", "mean", "sd", "n", "min", "max", "ci95_low", "ci95_high"]
    return pd.DataFrame(rows, columns=columns)


def at_fraction(curves: pd.DataFrame, runs: pd.DataFrame, fraction: float) -> pd.DataFrame:
    """Each run's metrics after a fraction of its schedule: the last value recorded by then."""
    last = curves.groupby("run_id")["epoch"].max()
    planned = pd.to_numeric(runs.set_index("id")["epochs"])
    planned = planned.fillna(last.reindex(planned.index))  # a schedule in steps ends with its last epoch
    limit = (planned * fraction + 1e-9).apply(np.floor)
    within = curves[curves["epoch"] <= curves["run_id"].map(limit)]
    return within.sort_values("epoch", kind="stable").drop_duplicates(["run_id", "metric"], keep="last")


def heading(metric: str, shown: str = "") -> str:
    """A metric with its displayed unit.  shown: its displayed name, if different."""
    name, unit = shown or metric, unit_of(metric)
    if unit == "bytes":
        return f"{name.removesuffix('_bytes')} (MiB)"
    return f"{name} (%)" if unit == "fraction" else name


def cell(metric: str, mean: float, sd: float, n: int) -> str:
    """97.42 ± 0.21 (n=3); without ± for a single run."""
    factor, decimals = scale(metric, mean, sd)
    text = format_number(mean * factor, decimals)
    if n > 1:
        text += f" ± {format_number(sd * factor, decimals)}"
    return f"{text} (n={n})"


def scale(metric: str, mean: float, sd: float) -> tuple[float, int]:
    """The factor from a metric's recorded to its displayed value, and the decimals."""
    unit = unit_of(metric)
    decimals = {"fraction": 2, "bytes": 1}.get(unit)
    return shown_factor(metric), significant_decimals(mean, sd) if decimals is None else decimals


def shown_factor(metric: str) -> float:
    """Fractions are shown in percent, bytes in MiB."""
    return {"fraction": 100.0, "bytes": 2.0**-20}.get(unit_of(metric), 1.0)


def format_number(value: float, decimals: int) -> str:
    if math.isfinite(value) and abs(value) >= 1e7:
        return f"{value:.3e}"
    return f"{value:z.{decimals}f}"  # z: no minus before a zero


def significant_decimals(mean: float, sd: float) -> int:
    """Decimals that show two digits of the sd, or four digits of the mean without a sd."""
    measure, digits = (sd, 2) if math.isfinite(sd) and sd > 0 else (abs(mean), 4)
    if not math.isfinite(measure) or measure == 0:
        return 4
    return min(8, max(0, digits - 1 - math.floor(math.log10(measure))))
