"""A score against a strength: accuracy by an attack's epsilon, by a corruption's severity, by the batch size.

Columns of the points: group, at, mean, sd (nan for one run), n, unit_of_at (eps, severity, batch_size, ...); runs if
known.  Options: metric; unfinished and groups as for curves.
"""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_observed
from normbench_cli.reporting.plots.curve import Scale, legend_label, mark_values, missing_labels
from normbench_cli.reporting.plots.drawing import Drawing, Group, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading
from normbench_cli.reporting.plots.style import AXIS, group_style


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), figure.points
    unfinished = figure.options.get("unfinished", {})
    groups = groups_of(figure, points)
    labels = [legend_label(group, unfinished) for group in groups]
    labels += missing_labels(points, unfinished)
    says = "mean ± 1 sd (ddof=1) over n runs" if (points["n"] > 1).any() else "one run each"
    drawing, axes = new_drawing(figure.title, says, 2.3, legend_lines(labels)[2])
    scale = Scale(factor_of(metric), logarithmic=False, floor=None)
    handles: list[Artist] = []
    for group in groups:
        handles.append(draw_group(axes, group, scale.factor))
        mark_values(drawing, axes, group, metric, scale)
    set_observed(axes, points["at"].tolist())
    axes.set_xlabel(str(points["unit_of_at"].iloc[0]).replace("_", " "))
    axes.set_ylabel(heading(metric))
    handles += [Line2D([], [], linestyle="none", marker="x", color=AXIS)] * (len(labels) - len(handles))
    add_legend(drawing, handles, labels)
    return drawing


def draw_group(axes: Axes, group: Group, factor: float) -> Line2D:
    style, part = group_style(group.number), group.points.sort_values("at")
    mean, sd = finite(part["mean"]) * factor, finite(part["sd"]).fillna(0) * factor
    axes.errorbar(part["at"], mean, sd, fmt="none", ecolor=style.color, elinewidth=0.8)
    (line,) = axes.plot(part["at"], mean, color=style.color, linestyle=style.dash, marker=style.marker, zorder=3)
    return line
