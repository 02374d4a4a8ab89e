"""Shared by all plots: size and fonts, head, legend, and the values that a page shows on hover."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import matplotlib
import matplotlib.style
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots import style
from normbench_cli.reporting.plots.text import plain, wrapped

WIDTH = 3.5  # inches: one column of a two-column paper
LINE = 0.145  # inches: a line of the legend or the head
PER_LINE = 62  # characters of the legend's font across a plot
LEFT = 0.01  # where the head begins, in widths of the plot
SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "text.color": style.INK,
    "axes.labelcolor": style.INK,
    "axes.edgecolor": style.AXIS,
    "xtick.color": style.AXIS,
    "ytick.color": style.AXIS,
    "xtick.labelcolor": style.INK,
    "ytick.labelcolor": style.INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": style.GRID,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "errorbar.capsize": 2,
    "figure.facecolor": style.PAPER,
    "axes.facecolor": style.PAPER,
    "text.parse_math": False,  # names may contain dollar signs
    "svg.fonttype": "none",
    "svg.hashsalt": "normbench",  # byte-identical output for the same figure
}


@dataclass(frozen=True)
class Mark:
    """A value in a plot: its position, its group, its text, and the runs it was computed from."""

    axes: Axes
    x: float
    y: float
    group: str
    text: str
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """The points of a group, its name, and its number, which determines its style."""

    number: int
    name: str
    points: pd.DataFrame


@dataclass(frozen=True)
class Drawing:
    """A plot, and its values."""

    plot: Plot
    marks: list[Mark] = field(default_factory=list)

    def mark(self, axes: Axes, x: float, y: float, group: str, text: str, runs: object = ()) -> None:
        """Record a value at these coordinates."""
        ids = tuple(runs) if isinstance(runs, tuple | list) else ()
        self.marks.append(Mark(axes, float(x), float(y), group, text, ids))


@contextmanager
def plot_style() -> Iterator[None]:
    """matplotlib's defaults with our settings, independent of the user's matplotlibrc; glyph warnings are silenced."""
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        # a character missing from the font is drawn as a box
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_drawing(title: str, subtitle: str, height: float, legend: int = 0) -> tuple[Drawing, Axes]:
    """Return an empty plot with a head; height: of the axes with their labels; legend: its number of lines."""
    first, second = wrapped(title, PER_LINE - 8), wrapped(subtitle, PER_LINE + 6) if subtitle else []
    total = height + LINE * (len(first) + len(second) + legend) + (0.15 if legend else 0.05)
    plot = Plot(figsize=(WIDTH, total), layout="constrained", dpi=72)
    # the layout knows only the title: empty lines reserve space for the subtitle
    plot.suptitle("\n".join([*first, *[""] * len(second)]), x=LEFT, ha="left", fontsize=8, fontweight="bold")
    below = 1 - (0.03 + LINE * len(first)) / total
    plot.text(LEFT, below, "\n".join(second), fontsize=6.5, color=style.AXIS, va="top")
    return Drawing(plot), plot.add_subplot()


def legend_lines(labels: Sequence[str]) -> tuple[list[str], int, int]:
    """Return the wrapped labels, the number of columns that they fit in, and the lines that the legend needs."""
    longest = max(map(len, labels), default=0)
    columns = next((count for count in (3, 2) if longest <= PER_LINE // count - 6 and len(labels) > count), 1)
    folded = ["\n".join(wrapped(label, PER_LINE // columns - 6)) for label in labels]
    heights = [label.count("\n") + 1 for label in folded]
    rows = -(-len(labels) // columns)
    lines = max((sum(heights[start : start + rows]) for start in range(0, len(heights), rows or 1)), default=0)
    return folded, columns, lines


def add_legend(drawing: Drawing, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Add the legend below the axes, where it covers nothing."""
    folded, columns, _ = legend_lines(labels)
    drawing.plot.legend(
        handles, folded, loc="outside lower left", ncols=columns, frameon=False, handlelength=2.6, columnspacing=1.2
    )


def groups_of(figure: Figure, points: pd.DataFrame) -> list[Group]:
    """The groups that have points, in the order of the option `groups`, or else of the points.

    With the option a group looks the same in every figure of a report, even if groups are missing from a figure.
    """
    found = {str(group): part for group, part in points.groupby("group", sort=False)}
    order = list(dict.fromkeys([*map(str, figure.options.get("groups", ())), *found]))
    return [Group(number, plain(name), found[name]) for number, name in enumerate(order) if name in found]
