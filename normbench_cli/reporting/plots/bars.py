"""Bars: the mean of each group from zero, with its sd; groups may have parts, such as data sets.

Columns of the points: group, mean, sd (nan for one run), n; part (text) and runs if known.
Options: metric; unfinished and groups as for curves.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.curve import legend_label, missing_labels
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading, value_text
from normbench_cli.reporting.plots.rows import name_rows, offsets, rows_height
from normbench_cli.reporting.plots.style import INK, PAPER, group_style

HATCHES = ("", "///", "...", "\\\\\\")  # distinguish parts in print without color


def draw(figure: Figure) -> Drawing:
    metric, unfinished = str(figure.options.get("metric", "")), figure.options.get("unfinished", {})
    points = figure.points if "part" in figure.points else figure.points.assign(part="")
    groups, parts = groups_of(figure, points), list(dict.fromkeys(points["part"].astype(str)))
    names = [legend_label(group, unfinished) for group in groups]
    missing = missing_labels(points, unfinished)
    legend = legend_lines(parts)[2] if len(parts) > 1 else 0
    says = "mean ± 1 sd (ddof=1) over n runs" if (points["n"] > 1).any() else "one run each"
    height = rows_height([*names, *missing], len(parts))
    drawing, axes = new_drawing(figure.title, says, height, legend)
    handles: dict[str, Artist] = {}
    for line, group in enumerate(groups):
        for row in group.points.itertuples():
            number = parts.index(str(row.part))
            y = line + offsets(len(parts))[number]
            length = float(finite(pd.Series([row.mean])).iloc[0]) * factor_of(metric)
            handles[str(row.part)] = draw_bar(axes, number, row, y, length, 0.62 / len(parts), factor_of(metric))
            which = f"{group.name}, {row.part}" if row.part else group.name
            drawing.mark(axes, length, y, group.name, f"{which}: {value_text(metric, row)}", getattr(row, "runs", ()))
    name_rows(axes, [*names, *missing])
    axes.set_xlabel(heading(metric))
    if legend:
        add_legend(drawing, list(handles.values()), list(handles))
    return drawing


def draw_bar(axes: Axes, number: int, row: Any, y: float, length: float, thickness: float, factor: float) -> Artist:
    style = group_style(number)
    error = 0.0 if row.sd != row.sd else row.sd * factor
    hatch = HATCHES[number % len(HATCHES)]
    bar = axes.barh([y], [length], thickness, color=style.color, hatch=hatch, edgecolor=PAPER, linewidth=0)
    if error:
        axes.errorbar([length], [y], xerr=[error], fmt="none", ecolor=INK, elinewidth=0.8)
    return bar.patches[0]
