"""Curves: the mean of each group over its training, with a band of one sd on either side.

Columns of the points: group, at, mean, sd (nan for one run), n, unit_of_at (epoch, step, seconds, ...); runs if known.
Options: metric; log, whether the axis is logarithmic (by default if positive values span a factor of 50); unfinished, a
mapping from groups to a text on the runs left out of the mean: "2 diverged"; groups, all groups of the report in order,
so that a group looks the same in each of its figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import lower_edge, set_counted, set_logarithmic, spans_magnitudes
from normbench_cli.reporting.plots.drawing import Drawing, Group, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading, value_text
from normbench_cli.reporting.plots.style import AXIS, group_style
from normbench_cli.reporting.plots.text import plain

MARKED = 12  # a curve with at most this many points gets markers
CROWDED = 8  # more bands than these are drawn fainter


@dataclass(frozen=True)
class Scale:
    """The vertical axis: the factor from recorded to drawn values, log or linear, and its lower limit if a band needs
    one."""

    factor: float
    logarithmic: bool
    floor: float | None


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), figure.points
    scale = scale_of(points, metric, figure.options.get("log"))
    unfinished = figure.options.get("unfinished", {})
    groups = groups_of(figure, points)
    labels = [legend_label(group, unfinished) for group in groups]
    labels += missing_labels(points, unfinished)
    drawing, axes = new_drawing(figure.title, subtitle(points, scale), 2.3, legend_lines(labels)[2])
    unit = str(points["unit_of_at"].iloc[0])
    handles: list[Artist] = []
    for group in groups:
        handles.append(draw_group(axes, group, scale, crowded=len(labels) > CROWDED))
        mark_values(drawing, axes, group, metric, scale)
    if scale.logarithmic:
        set_logarithmic(axes, "y")
        axes.set_ylim(bottom=scale.floor)
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
    set_counted(axes, unit)
    axes.set_xlabel(unit if unit != "seconds" else "seconds of training")
    axes.set_ylabel(heading(metric))
    handles += [Line2D([], [], linestyle="none", marker="x", color=AXIS)] * (len(labels) - len(handles))
    add_legend(drawing, handles, labels)
    return drawing


def scale_of(points: pd.DataFrame, metric: str, asked: bool | None) -> Scale:
    factor = factor_of(metric)
    means, sd = finite(points["mean"]) * factor, finite(points["sd"]).fillna(0) * factor
    logarithmic = factor != 100 and spans_magnitudes(means) if asked is None else asked
    return Scale(factor, logarithmic, lower_edge(means, means - sd) if logarithmic else None)


def subtitle(points: pd.DataFrame, scale: Scale) -> str:
    """The meaning of line and band, and what is not visible."""
    says = "mean, band: ± 1 sd (ddof=1) over n runs" if (points["n"] > 1).any() else "one run each"
    if scale.floor is not None:
        says += "; a band at the lower edge goes on below it, where sd comes near the mean"
    if finite(points["mean"]).isna().any():
        says += "; gaps: values that are not finite"
    return says


def legend_label(group: Group, unfinished: Mapping[str, str]) -> str:
    """popnorm (n=3, 1 diverged)."""
    lost = unfinished.get(str(group.points["group"].iloc[0]), "")
    return f"{group.name} (n={int(group.points['n'].max())}{f', {lost}' if lost else ''})"


def missing_labels(points: pd.DataFrame, unfinished: Mapping[str, str]) -> list[str]:
    """Groups without a curve, and why they have none."""
    drawn = set(map(str, points["group"]))
    return [f"{plain(group)}: {why}" for group, why in unfinished.items() if group not in drawn]


def draw_group(axes: Axes, group: Group, scale: Scale, *, crowded: bool) -> Line2D:
    style, part = group_style(group.number), group.points
    mean, sd = finite(part["mean"]) * scale.factor, finite(part["sd"]) * scale.factor
    (line,) = axes.plot(part["at"], mean, color=style.color, linestyle=style.dash, zorder=3)
    if len(part) <= MARKED:
        line.set_marker(style.marker)
    if (part["n"] > 1).any():
        low = (mean - sd.fillna(0)).clip(lower=scale.floor)
        faint = 0.07 if crowded else 0.18
        axes.fill_between(part["at"], low, mean + sd.fillna(0), color=style.color, alpha=faint, linewidth=0)
    return line


def mark_values(drawing: Drawing, axes: Axes, group: Group, metric: str, scale: Scale) -> None:
    for row, mean in zip(group.points.itertuples(), finite(group.points["mean"]) * scale.factor, strict=True):
        if mean == mean:
            text = f"{group.name}, {row.unit_of_at} {row.at:,.6g}: {value_text(metric, row)}"
            drawing.mark(axes, row.at, mean, group.name, text, getattr(row, "runs", ()))
