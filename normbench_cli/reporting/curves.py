"""How a measurement went over time: group by group, the mean and sd over runs, as a table and as a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.collect import NothingMeasured, ReportQuery, chosen_runs
from normbench_cli.reporting.robustness import by_strength
from normbench_cli.store import Store
from normbench_cli.store.metric_names import unit_of
from normbench_cli.store.queries import metrics_frame, series, series_names

MOST_POINTS = 400  # of a curve; a longer series is averaged over stretches


def curves(store: Store, question: ReportQuery, name: str) -> pd.DataFrame:
    """Columns group (in words), at, unit_of_at (step, epoch or a parameter), mean, sd, n: for each group over its
    finished runs.

    A raw series, a value a step, goes before the values by epoch; a metric under an attack or a corruption, which has
    neither, goes by the strength of that.
    """
    runs, groups, _, shown = chosen_runs(store, replace(question, metrics=(name,)))
    finished = runs[runs["status"] == "finished"]
    found = by_step(store, finished, name)
    unit = "step"
    if found.empty:
        found, unit = by_epoch(store, finished, name), "epoch"
    if found.empty and "@" in name:
        found, unit = by_strength(store, finished, name)
    if found.empty:
        raise NothingMeasured(f"no finished run has a curve of '{name}'", suggest(name, names(store, finished)))
    words = {group: label(row, shown) for group, row in groups.iterrows()}
    points = found.groupby(["group", "at"])["value"].agg(["mean", "std", "count"]).reset_index()
    points = points.rename(columns={"std": "sd", "count": "n"})
    points["group"] = points["group"].map(words)
    return points.assign(unit_of_at=unit)


def by_step(store: Store, runs: pd.DataFrame, name: str) -> pd.DataFrame:
    parts = []
    for run in runs.itertuples():
        values = series(store, run.id, name)
        if len(values):
            parts.append(thinned(values).dropna().assign(group=run.group))  # not looked at in every step
    return pd.concat(parts) if parts else pd.DataFrame()


def thinned(values: pd.Series) -> pd.DataFrame:
    """At most so many points; each the mean of a stretch, at the stretch's last step."""
    stretch = max(1, -(-len(values) // MOST_POINTS))
    number = np.arange(len(values)) // stretch
    return pd.DataFrame(
        {"at": values.index.to_series().groupby(number).last().to_numpy() + 1, "value": values.groupby(number).mean()}
    )


def by_epoch(store: Store, runs: pd.DataFrame, name: str) -> pd.DataFrame:
    values = metrics_frame(store, runs["id"].tolist(), [name], curve=True)
    joined = values.merge(runs[["id", "group"]], left_on="run_id", right_on="id")
    return joined.rename(columns={"epoch": "at"})[["group", "at", "value"]]


def names(store: Store, runs: pd.DataFrame) -> list[str]:
    """What there is a curve of."""
    ids = runs["id"].tolist()
    recorded = set(metrics_frame(store, ids, curve=True)["metric"])
    return sorted(recorded.union(*(series_names(store, run_id) for run_id in ids[:1])))


def label(group: pd.Series, fields: Sequence[str]) -> str:
    return " ".join(format_value(group[field]) for field in fields) or "all"


def write(points: pd.DataFrame, name: str, folder: Path) -> list[Path]:
    """The curve as a picture and as its numbers."""
    stem = "curve-" + re.sub(r"[^\w.-]+", "_", name)
    folder.mkdir(parents=True, exist_ok=True)
    picture, numbers = folder / f"{stem}.png", folder / f"{stem}.csv"
    draw(points, name, picture)
    points.to_csv(numbers, index=False)
    return [picture, numbers]


def draw(points: pd.DataFrame, name: str, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    factor = 100 if unit_of(name) == "fraction" else 1
    positive = points["mean"][points["mean"] > 0]
    logarithmic = factor == 1 and len(positive) == len(points) and positive.max() > 50 * positive.min()
    floor = positive.min() / 2 if logarithmic else -np.inf  # a logarithm has no place for what is below zero
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for group, part in points.groupby("group", sort=False):
        n = int(part["n"].max())
        (line,) = axes.plot(part["at"], part["mean"] * factor, label=f"{group} (n={n})", linewidth=1.4)
        if n > 1:
            sd = part["sd"].fillna(0)
            low, high = ((part["mean"] - sd) * factor).clip(lower=floor), (part["mean"] + sd) * factor
            axes.fill_between(part["at"], low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    several = (points["n"] > 1).any()
    axes.set_title(f"{name}: mean" + (" and sd (ddof=1) over seeds" if several else ""), loc="left", fontsize=11)
    axes.set_xlabel(points["unit_of_at"].iloc[0])
    axes.set_ylabel(tables.heading(name))
    if logarithmic:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    FigureCanvasAgg(figure).print_png(str(path))
