"""A measurement from night to night: each group's value by date, with an interval if there is one.

Columns of the points: group, at (a date or time), mean; sd, n, low and high (the interval drawn; otherwise mean ± sd),
band_low and band_high (what the night was compared with), remark (such as "regression", which is drawn as a ring) and
runs if known.  Options: metric; interval (what the interval is), changes (dates on which the level changed); groups as
for curves.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib import dates
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.drawing import Drawing, add_legend, groups_of, legend_lines, new_drawing
from normbench_cli.reporting.plots.numbers import factor_of, finite, heading, value_text
from normbench_cli.reporting.plots.style import INK, group_style

untyped_dates: Any = dates
BAND = ("band_low", "band_high")
FEW_DAYS = 5
DAY = 0.5  # days on either side of a single night


def draw(figure: Figure) -> Drawing:
    metric, points = str(figure.options.get("metric", "")), shown_points(figure.points, figure.options)
    groups = groups_of(figure, points)
    labels = [group.name for group in groups]
    remarks = [text for text in dict.fromkeys(points["remark"]) if text]
    says = str(figure.options.get("interval", "mean ± 1 sd (ddof=1) over the runs of a night"))
    says += f"; ring: {', '.join(remarks)}" if remarks else ""
    changes = [str(day) for day in figure.options.get("changes", ())]
    says += f"; dashed line: the level changed on {', '.join(changes)}" if changes else ""
    drawing, axes = new_drawing(figure.title, says, 2.2, legend_lines(labels)[2])
    handles: list[Artist] = []
    for group in groups:
        handles.append(draw_group(axes, group.number, group.points.sort_values("day")))
        for row in group.points.sort_values("day").dropna(subset="y").itertuples():
            text = mark_text(metric, group.name, row)
            drawing.mark(axes, row.day, row.y, group.name, text, getattr(row, "runs", ()))
    for moment in pd.to_datetime(changes):  # between the last night of the old level and the first of the new
        axes.axvline(untyped_dates.date2num(moment) - DAY, color=INK, linestyle=(0, (4, 2)), linewidth=0.9)
    set_dates(axes, points["day"])
    axes.set_ylabel(heading(metric))
    add_legend(drawing, handles, labels)
    return drawing


def shown_points(points: pd.DataFrame, options: Any) -> pd.DataFrame:
    """The points in the unit of the axis: y, below and above it, the day as a matplotlib date."""
    factor = factor_of(str(options.get("metric", "")))
    mean = finite(points["mean"])
    sd = finite(points["sd"]).fillna(0) if "sd" in points else pd.Series(0.0, points.index)
    low = finite(points["low"]) if "low" in points else mean - sd
    high = finite(points["high"]) if "high" in points else mean + sd
    remark = points["remark"].fillna("") if "remark" in points else ""
    moments = pd.to_datetime(points["at"], utc=True).dt.tz_localize(None)
    bands = {name: finite(points[name]) * factor if name in points else math.nan for name in BAND}
    return points.assign(
        **bands,
        day=untyped_dates.date2num(moments.to_numpy()),
        moment=moments,
        y=mean * factor,
        below=(mean - low).clip(lower=0).fillna(0) * factor,
        above=(high - mean).clip(lower=0).fillna(0) * factor,
        remark=remark,
    )


def draw_group(axes: Axes, number: int, part: pd.DataFrame) -> Line2D:
    style = group_style(number)
    bars = [part["below"].tolist(), part["above"].tolist()]
    axes.errorbar(part["day"], part["y"], bars, fmt="none", ecolor=style.color, elinewidth=0.8)
    low, high = (part[name].tolist() for name in BAND)
    axes.fill_between(part["day"], low, high, color=style.color, alpha=0.15, linewidth=0)
    (line,) = axes.plot(part["day"], part["y"], color=style.color, linestyle=style.dash, marker=style.marker, zorder=3)
    marked = part[part["remark"] != ""]
    axes.plot(marked["day"], marked["y"], "o", markersize=9, markerfacecolor="none", color=INK, zorder=4)
    return line


def set_dates(axes: Axes, days: pd.Series) -> None:
    if days.min() == days.max():
        axes.set_xlim(days.min() - DAY, days.max() + DAY)
    if days.max() - days.min() < FEW_DAYS:  # one tick per day: there is nothing between days
        axes.xaxis.set_major_locator(untyped_dates.DayLocator())
        axes.xaxis.set_major_formatter(untyped_dates.DateFormatter("%Y-%m-%d" if days.nunique() == 1 else "%b %d"))
    else:
        locator = untyped_dates.AutoDateLocator(minticks=2, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(untyped_dates.ConciseDateFormatter(locator))


def mark_text(metric: str, group: str, row: Any) -> str:
    """popnorm, 2026-03-01: 97.42 ± 0.21 (n=3), regression."""
    return f"{group}, {row.moment:%Y-%m-%d}: {value_text(metric, row)}" + (f", {row.remark}" if row.remark else "")
