"""Axes: integers for counted units, logarithmic if values span magnitudes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

WHOLE = ("epoch", "step", "iteration")  # counted units
SPAN = 50  # positive values that differ by this factor are drawn on a logarithmic axis
Side = Literal["x", "y"]
BETWEEN = (
    (12, (1.0, 1.5, 2.0, 3.0, 5.0)),
    (120, (1.0, 2.0, 5.0)),
)  # largest ratio of the axis limits, and the ticks per decade up to it


def set_counted(axes: Axes, unit: str) -> None:
    """Put the x axis' ticks at whole numbers if the unit is counted."""
    low, high = axes.dataLim.intervalx
    if low == high:
        axes.set_xlim(low - 1, high + 1)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=unit in WHOLE))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def spans_magnitudes(values: pd.Series, factor: float = SPAN) -> bool:
    """Whether all values are positive and the largest is many times the smallest."""
    found = values.dropna()
    return bool(len(found) and found.min() > 0 and found.max() > factor * found.min())


def set_logarithmic(axes: Axes, side: Side) -> None:
    """Make an axis logarithmic, with plain numbers: powers of ten, and some between if there are few."""
    (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if side == "x" else axes.get_ylim()
    axis = axes.xaxis if side == "x" else axes.yaxis
    between = next((subs for most, subs in BETWEEN if high <= most * low), (1.0,))
    axis.set_major_locator(LogLocator(subs=between))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def set_observed(axes: Axes, values: Sequence[float]) -> None:
    """Put ticks at the measured values, on a base-2 logarithmic axis if they span a factor of 4 or more."""
    ticks = sorted(set(values))
    if len(ticks) > 1 and ticks[0] > 0 and ticks[-1] >= 4 * ticks[0]:
        axes.set_xscale("log", base=2)
    if len(ticks) <= 8:
        axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def lower_edge(means: pd.Series, lows: pd.Series) -> float | None:
    """The lower limit of a logarithmic axis if a band reaches (almost) down to zero, otherwise None."""
    floor = float(means.min()) / 4
    return floor if (lows.dropna() < floor).any() else None
