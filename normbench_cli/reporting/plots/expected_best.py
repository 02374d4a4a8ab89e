"""The expected best score of a search against the number of trials, with its bootstrap interval as a band.

Columns of the points: group, at (trials), mean, low, high, n (trials made); runs if known.
Options: metric; groups as for curves.
"""

from __future__ import annotations

from matplotlib.artist import Artist

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_counted
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading
from normbench_cli.reporting.plots.style import group_style
from normbench_cli.reporting.tables import format_number

SAYS = "expected best of so many trials, drawn without replacement; band: 95 % bootstrap interval"
CROWDED = 4  # more bands than these are drawn fainter


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), figure.points
    factor = factor_of(metric)
    groups = groups_of(figure, points)
    labels = [f"{group.name} ({int(group.points['n'].max())} trials)" for group in groups]
    drawing, axes = new_drawing(figure.title, SAYS, 2.3, legend_lines(labels)[2])
    handles: list[Artist] = []
    for group in groups:
        style, part = group_style(group.number), group.points.sort_values("at")
        mean, low, high = (finite(part[name]) * factor for name in ("mean", "low", "high"))
        handles += axes.plot(part["at"], mean, color=style.color, linestyle=style.dash, zorder=3)
        faint = 0.07 if len(groups) > CROWDED else 0.15
        axes.fill_between(part["at"], low, high, color=style.color, alpha=faint, linewidth=0)
        for at, best, a, b in zip(part["at"], mean, low, high, strict=True):
            shown = [format_number(value, 2) for value in (best, a, b)]
            text = f"{group.name}, best of {at}: {shown[0]} [{shown[1]}, {shown[2]}]"
            drawing.mark(axes, at, best, group.name, text)
    set_counted(axes, "step")
    axes.set_xlabel("trials")
    axes.set_ylabel(heading(metric))
    add_legend(drawing, handles, labels)
    return drawing
