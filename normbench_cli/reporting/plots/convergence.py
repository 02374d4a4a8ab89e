"""How fast solvers converge: the error against passes over the data, one panel per kind of data.

Columns of the points: group (the solver), panel, at (passes), error (nan where there is none); runs if known.
Options: error (what the vertical axis shows), aim (the tolerance).
"""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import finite
from normbench_cli.reporting.plots.style import AXIS, group_style
from normbench_cli.reporting.plots.text import wrapped

ACROSS = 3  # panels in a row
HEIGHT = 0.95  # inches per row
LEAST, MOST = 1e-10, 1e4  # range of the error axis; a line leaving at the top diverges
SMALL = 6  # points
NAME_WIDTH = 20  # characters of a panel's name before it is wrapped


def draw(figure: Figure) -> Drawing:
    points = figure.points.assign(drawn=finite(figure.points["error"]).clip(lower=LEAST))
    groups = groups_of(figure, points)
    panels = list(dict.fromkeys(points["panel"].astype(str)))
    labels = [group.name for group in groups]
    rows = math.ceil(len(panels) / ACROSS)
    aim = figure.options.get("aim")
    drawing, first = new_drawing(figure.title, subtitle(aim), 0.4 + HEIGHT * rows, legend_lines(labels)[2])
    first.remove()
    grid = drawing.plot.subplots(rows, ACROSS, sharex=True, sharey=True, squeeze=False).flatten()
    for axes in grid[len(panels) :]:
        axes.remove()
    handles: dict[str, Artist] = {}
    for axes, panel in zip(grid, panels, strict=False):
        for group in groups:
            part = group.points[group.points["panel"].astype(str) == panel]
            handles[group.name] = draw_line(axes, group.number, part)
            for row in part.itertuples():
                text = f"{group.name}, {panel}, {row.at:g} passes: {row.error:.2g}"
                drawing.mark(axes, row.at, min(row.drawn, MOST), group.name, text, getattr(row, "runs", ()))
        set_axes(axes, panel, points["at"], aim)
    grid[min(len(panels), ACROSS * (rows - 1) + 2) - 1].set_xlabel("passes over the data", fontsize=7)
    drawing.plot.supylabel(str(figure.options.get("error", "error")), fontsize=7)
    add_legend(drawing, list(handles.values()), list(handles))
    return drawing


def subtitle(aim: float | None) -> str:
    says = "largest error over all channels; above the panel: a solver diverges, at its lower edge: no error"
    return says + (f"; dotted: {aim:g}" if aim else "")


def draw_line(axes: Axes, number: int, part: pd.DataFrame) -> Line2D:
    style = group_style(number)
    (line,) = axes.plot(
        part["at"], part["drawn"], color=style.color, linestyle=style.dash, marker=style.marker, markersize=2.5
    )
    return line


def set_axes(axes: Axes, panel: str, passes: pd.Series, aim: float | None) -> None:
    axes.set_title("\n".join(wrapped(panel, NAME_WIDTH)), fontsize=7, pad=3)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(LEAST / 3, MOST)
    ticks = sorted(set(passes))
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if math.log2(tick).is_integer()][::2] or ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(LogLocator(numticks=4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"1e{math.log10(value):.0f}" if value != 1 else "1"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=SMALL)
    if aim:
        axes.axhline(aim, color=AXIS, linewidth=0.7, linestyle=(0, (1, 1.5)))
