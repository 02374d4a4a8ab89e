"""A score against a strength: accuracy by an attack's epsilon, a corruption's severity or the batch size.

Columns of the points: group, at, mean, sd (nan for one run), n, unit_of_at (eps, severity, batch_size, ...); runs if
known; low and high, the ends of an interval, instead of mean ± sd.  Options: metric; unfinished and groups as for
curves; interval (what the interval is), label (of the axis of values), line (a value that is marked), log.
"""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_logarithmic, set_observed
from normbench_cli.reporting.plots.curve import Scale, legend_label, mark_values, missing_labels
from normbench_cli.reporting.plots.drawing import Drawing, Group, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading
from normbench_cli.reporting.plots.style import AXIS, group_style
from normbench_cli.reporting.plots.text import plain


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), figure.points
    unfinished = figure.options.get("unfinished", {})
    groups = groups_of(figure, points)
    counted = "low" not in points  # the number of runs does not apply to a given interval
    labels = [legend_label(group, unfinished) if counted else group.name for group in groups]
    labels += missing_labels(points, unfinished)
    usual = "mean ± 1 sd (ddof=1) over n runs" if (points["n"] > 1).any() else "one run each"
    says = str(figure.options.get("interval", usual))
    drawing, axes = new_drawing(figure.title, says, 2.3, legend_lines(labels)[2])
    scale = Scale(factor_of(metric), logarithmic=False, floor=None)
    handles: list[Artist] = []
    for group in groups:
        handles.append(draw_group(axes, group, scale.factor))
        if counted:
            mark_values(drawing, axes, group, metric, scale)
        else:
            mark_intervals(drawing, axes, group)
    if (line := figure.options.get("line")) is not None:
        axes.axhline(float(line), color=AXIS, linewidth=0.8)
    if figure.options.get("log"):
        set_logarithmic(axes, "y")
    set_observed(axes, points["at"].tolist())
    axes.set_xlabel(str(points["unit_of_at"].iloc[0]).replace("_", " ").replace("-", " "))
    axes.set_ylabel(plain(str(figure.options.get("label", heading(metric)))))
    handles += [Line2D([], [], linestyle="none", marker="x", color=AXIS)] * (len(labels) - len(handles))
    add_legend(drawing, handles, labels)
    return drawing


def draw_group(axes: Axes, group: Group, factor: float) -> Line2D:
    style, part = group_style(group.number), group.points.sort_values("at")
    mean = finite(part["mean"]) * factor
    if "low" in part:
        low, high = ((finite(part[name]) * factor - mean).abs().fillna(0) for name in ("low", "high"))
    else:
        low = high = finite(part["sd"]).fillna(0) * factor
    axes.errorbar(part["at"], mean, [low.tolist(), high.tolist()], fmt="none", ecolor=style.color, elinewidth=0.8)
    (line,) = axes.plot(part["at"], mean, color=style.color, linestyle=style.dash, marker=style.marker, zorder=3)
    return line


def mark_intervals(drawing: Drawing, axes: Axes, group: Group) -> None:
    """popnorm, batch size 32: 1.23 (1.2 to 1.27)."""
    for row in group.points.itertuples():
        interval = f" ({row.low:.3g} to {row.high:.3g})" if row.low == row.low else ""
        text = f"{group.name}, {str(row.unit_of_at).replace('-', ' ')} {row.at:,.6g}: {row.mean:.3g}{interval}"
        drawing.mark(axes, row.at, row.mean, group.name, text, getattr(row, "runs", ()))
