"""Curves as files: a plot, and the numbers it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from normbench_cli.disk import write_text, write_whole
from normbench_cli.printable import printable
from normbench_cli.reporting import tables
from normbench_cli.store.metric_names import unit_of


def write_curve(points: pd.DataFrame, name: str, folder: Path) -> Iterator[Path]:
    """Write the plot and the CSV file of a curve; yield each path written."""
    stem = "curve-" + re.sub(r"[^\w.-]+", "_", name)
    folder.mkdir(parents=True, exist_ok=True)
    plot = folder / f"{stem}.png"
    draw(points, name, plot)
    yield plot
    numbers = folder / f"{stem}.csv"
    write_text(numbers, printable(points.to_csv(index=False)))
    yield numbers


def draw(points: pd.DataFrame, name: str, path: Path) -> None:
    """The mean of each group over time, with a band of one sd on either side."""
    from matplotlib.figure import Figure

    factor = 100 if unit_of(name) == "fraction" else 1
    positive = points["mean"][points["mean"] > 0]
    logarithmic = factor == 1 and len(positive) == len(points) and positive.max() > 50 * positive.min()
    floor = positive.min() / 2 if logarithmic else -np.inf  # a logarithmic axis cannot show mean - sd below zero
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for group, part in points.groupby("group", sort=False):
        n = int(part["n"].max())
        (line,) = axes.plot(part["at"], part["mean"] * factor, label=printable(f"{group} (n={n})"), linewidth=1.4)
        if n > 1:
            sd = part["sd"].fillna(0)
            low, high = ((part["mean"] - sd) * factor).clip(lower=floor), (part["mean"] + sd) * factor
            axes.fill_between(part["at"], low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    repeated = (points["n"] > 1).any()
    axes.set_title(f"{name}: mean" + (" and sd (ddof=1) over seeds" if repeated else ""), loc="left", fontsize=11)
    axes.set_xlabel(points["unit_of_at"].iloc[0])
    axes.set_ylabel(tables.heading(name))
    if logarithmic:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    write_whole(path, lambda file: figure.savefig(file))
