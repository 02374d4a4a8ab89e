"""Accuracy against cost, and the Pareto front: the groups that no other group dominates in score and cost.

Columns of the points, one per group: group, cost, mean, sd (nan for one run), n; cost_sd and runs if known.
Options: metric, cost (the name of the metric on the horizontal axis); unfinished and groups as for curves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_logarithmic, spans_magnitudes
from normbench_cli.reporting.plots.curve import legend_label, missing_labels
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading, higher_is_better, value_text
from normbench_cli.reporting.plots.style import AXIS, PAPER, group_style

LOGARITHMIC_FROM = 8  # ratio of the largest to the smallest cost


def draw(figure: Figure) -> Drawing:
    metric, cost = str(figure.options.get("metric", "")), str(figure.options.get("cost", ""))
    points = shown_points(figure.points, metric, cost)
    unfinished = figure.options.get("unfinished", {})
    groups = groups_of(figure, points)
    labels = [legend_label(group, unfinished) for group in groups]
    labels += missing_labels(points, unfinished)
    says = "mean ± 1 sd (ddof=1) over n runs; filled: on the Pareto front"
    drawing, axes = new_drawing(figure.title, says, 2.3, legend_lines(labels)[2])
    handles: list[Artist] = []
    for group in groups:
        row = next(group.points.itertuples())
        handles.append(draw_group(axes, group.number, row))
        if row.x == row.x and row.y == row.y:
            text = f"{group.name}: {value_text(metric, row)}, {heading(cost)} {row.x:,.4g}"
            drawing.mark(axes, row.x, row.y, group.name, text, getattr(row, "runs", ()))
    draw_front(axes, points[points["on_front"]].sort_values("x"))
    if spans_magnitudes(points["x"], LOGARITHMIC_FROM):
        set_logarithmic(axes, "x")
    axes.set_xlabel(heading(cost))
    axes.set_ylabel(heading(metric))
    handles += [Line2D([], [], linestyle="none", marker="x", color=AXIS)] * (len(labels) - len(handles))
    add_legend(drawing, handles, labels)
    return drawing


def shown_points(points: pd.DataFrame, metric: str, cost: str) -> pd.DataFrame:
    """The points in the units of the axes: x, y, x_sd, y_sd; and on_front."""
    x, y = finite(points["cost"]) * factor_of(cost), finite(points["mean"]) * factor_of(metric)
    x_sd = points["cost_sd"] if "cost_sd" in points else pd.Series(math.nan, points.index)
    return points.assign(
        x=x,
        y=y,
        x_sd=finite(x_sd).fillna(0) * factor_of(cost),
        y_sd=finite(points["sd"]).fillna(0) * factor_of(metric),
        on_front=pareto_front(x.to_numpy(), y.to_numpy() if higher_is_better(metric) else -y.to_numpy()),
    )


def pareto_front(cost: np.ndarray, gain: np.ndarray) -> list[bool]:
    """Whether each point is undominated: no other costs at most as much and gains at least as much, one of them
    strictly."""
    return [
        bool(np.isfinite(c + g) and not np.any((cost <= c) & (gain >= g) & ((cost < c) | (gain > g))))
        for c, g in zip(cost, gain, strict=True)
    ]


def draw_group(axes: Axes, number: int, row: Any) -> Line2D:
    style = group_style(number)
    left = min(row.x_sd, 0.99 * row.x)  # the axis may be logarithmic
    errors = ([[row.y_sd], [row.y_sd]], [[left], [row.x_sd]])
    axes.errorbar([row.x], [row.y], *errors, fmt="none", ecolor=style.color, elinewidth=0.8)
    face = style.color if row.on_front else PAPER
    (point,) = axes.plot(
        [row.x], [row.y], style.marker, color=style.color, markerfacecolor=face, markersize=5.5, zorder=3
    )
    return point


def draw_front(axes: Axes, front: pd.DataFrame) -> None:
    """Draw the front as steps, because nothing was measured between its points."""
    axes.step(front["x"], front["y"], where="post", color=AXIS, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
