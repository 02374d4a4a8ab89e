"""Sensitivity: the score of every trial against a setting, and for each group a line through its best trials.

Columns of the points: group, at (the setting), mean (the score), status (finished, stopped or diverged); runs if known.
Options: metric; setting; log, whether the setting's axis is logarithmic; groups as for curves.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_logarithmic
from normbench_cli.reporting.plots.drawing import Drawing, Group, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading, value_text
from normbench_cli.reporting.plots.style import group_style

WINDOW = 1 / 12  # of the range, on either side: a quarter of a decade in a search over three
SAYS = "a mark a trial; line: the best trial nearby; hollow: stopped early; x at the foot: diverged"


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), figure.points
    log = bool(figure.options.get("log"))
    groups = groups_of(figure, points)
    labels = [group.name for group in groups]
    drawing, axes = new_drawing(figure.title, SAYS, 2.3, legend_lines(labels)[2])
    shown = finite(points["mean"]) * factor_of(metric)
    floor = float(shown[points["status"] != "diverged"].min())
    heights = shown.where(points["status"] != "diverged", floor if floor == floor else 0.0)
    places = np.log(points["at"].astype(float)) if log else points["at"].astype(float)
    window = WINDOW * float(places.max() - places.min())
    handles: list[Artist] = []
    for group in groups:
        own = group.points.assign(y=heights[group.points.index], place=places[group.points.index]).sort_values("at")
        handles.append(draw_group(axes, group, own, window))
        for row in own.itertuples():
            beside = "" if row.status == "finished" else f", {row.status}"
            setting = figure.options.get("setting", "")
            text = f"{group.name}, {setting} {row.at:g}: {value_text(metric, row)}{beside}"
            drawing.mark(axes, row.at, row.y, group.name, text, getattr(row, "runs", ()))
    if log:
        set_logarithmic(axes, "x")
    axes.set_xlabel(str(figure.options.get("setting", "")))
    axes.set_ylabel(heading(metric))
    add_legend(drawing, handles, labels)
    return drawing


def draw_group(axes: Axes, group: Group, points: pd.DataFrame, window: float) -> Artist:
    style = group_style(group.number)
    done = points[points["status"] == "finished"]
    best = [float(done["y"][(done["place"] - place).abs() <= window].max()) for place in done["place"]]
    (line,) = axes.plot(done["at"], best, color=style.color, linestyle=style.dash, zorder=3)
    axes.plot(done["at"], done["y"], linestyle="none", color=style.color, marker=style.marker, alpha=0.55)
    stopped = points[points["status"] == "stopped"]
    axes.plot(
        stopped["at"], stopped["y"], linestyle="none", color=style.color, marker=style.marker, markerfacecolor="none"
    )
    lost = points[points["status"] == "diverged"]
    axes.plot(lost["at"], lost["y"], linestyle="none", color=style.color, marker="x")
    return line
