"""Profiled times relative to a reference: one row per contender, its ratio with an interval.

Columns of the points: group, ratio, low, high (nan without an interval); at (the shape or model measured), noisy and
runs if known.  Options: metric, reference (the contender that is 1).
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.axes import set_logarithmic, spans_magnitudes
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import finite
from normbench_cli.reporting.plots.rows import name_rows, offsets, rows_height
from normbench_cli.reporting.plots.style import AXIS, PAPER, group_style
from normbench_cli.reporting.plots.text import plain

LOGARITHMIC_FROM = 6  # largest to smallest ratio


def draw(figure: Figure) -> Drawing:
    points = shown_points(figure.points)
    groups = groups_of(figure, points)
    places = list(dict.fromkeys(points["at"].astype(str)))
    legend = legend_lines(places)[2] if len(places) > 1 else 0
    noisy = bool(points["noisy"].any())
    says = "median of the ratios of each round, 95 % interval" + ("; hollow: a noisy measurement" if noisy else "")
    height = rows_height([group.name for group in groups], len(places))
    drawing, axes = new_drawing(figure.title, says, height, legend)
    axes.axvline(1, color=AXIS, linewidth=0.8)
    handles: dict[str, Artist] = {}
    for line, group in enumerate(groups):
        for row in group.points.itertuples():
            number = places.index(str(row.at))
            y = line + offsets(len(places))[number]
            handles[str(row.at)] = draw_interval(axes, number, row, y)
            place = f" at {row.at}" if row.at else ""
            text = f"{group.name}{place}: {ratio_text(row)}"
            drawing.mark(axes, row.ratio, y, group.name, text, getattr(row, "runs", ()))
    name_rows(axes, [group.name for group in groups])
    if spans_magnitudes(pd.concat([points["ratio"], points["low"]]), LOGARITHMIC_FROM):
        set_logarithmic(axes, "x")
    metric, reference = str(figure.options.get("metric", "")), str(figure.options.get("reference", ""))
    axes.set_xlabel(plain(f"{metric} relative to {reference}"))
    if legend:
        add_legend(drawing, list(handles.values()), list(handles))
    return drawing


def shown_points(points: pd.DataFrame) -> pd.DataFrame:
    """The points that have a ratio, with optional columns filled in."""
    found = points.assign(ratio=finite(points["ratio"]), low=finite(points["low"]), high=finite(points["high"]))
    for name, value in (("at", ""), ("noisy", False)):
        if name not in found:
            found[name] = value
    return found[found["ratio"].notna()]


def draw_interval(axes: Axes, number: int, row: Any, y: float) -> Line2D:
    style = group_style(number)
    if row.low == row.low and row.high == row.high:
        axes.plot([row.low, row.high], [y, y], color=style.color, linewidth=1.1, solid_capstyle="butt")
    face = PAPER if row.noisy else style.color
    (point,) = axes.plot(
        [row.ratio], [y], style.marker, color=style.color, markerfacecolor=face, markersize=4.5, zorder=3
    )
    return point


def ratio_text(row: Any) -> str:
    """1.23 (1.20 to 1.27)."""
    interval = f" ({row.low:.3g} to {row.high:.3g})" if row.low == row.low else ""
    return f"{row.ratio:.3g}{interval}" + (", noisy" if row.noisy else "")
