"""What every plot shares: its size and fonts, its head, its legend, and the values that a page shows on hover."""

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
    "text.parse_math": False,  # names hold dollar signs that are no mathematics
    "svg.fonttype": "none",
    "svg.hashsalt": "normbench",  # the same figure is written as the same bytes
}


@dataclass(frozen=True)
class Mark:
    """A value in a plot: where it stands, which group it belongs to, what it says, the runs it was computed from."""

    axes: Axes
    x: float
    y: float
    group: str
    text: str
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """The points of a group, its name, and its number, which decides how it looks."""

    number: int
    name: str
    points: pd.DataFrame


@dataclass(frozen=True)
class Drawing:
    """A plot, and its values."""

    plot: Plot
    marks: list[Mark] = field(default_factory=list)

    def mark(self, axes: Axes, x: float, y: float, group: str, text: str, runs: object = ()) -> None:
        """Note a value that stands at these coordinates."""
        ids = tuple(runs) if isinstance(runs, tuple | list) else ()
        self.marks.append(Mark(axes, float(x), float(y), group, text, ids))


@contextmanager
def plot_style() -> Iterator[None]:
    """matplotlib's own defaults with our settings, whatever the user's matplotlibrc says; no warning gets out."""
    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        # a character that no font has is drawn as a box, which says enough
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_drawing(title: str, subtitle: str, height: float, legend: int = 0) -> tuple[Drawing, Axes]:
    """An empty plot with a head: the height is that of the axes with their labels, a legend adds its lines."""
    first, second = wrapped(title, PER_LINE - 8), wrapped(subtitle, PER_LINE + 6) if subtitle else []
    total = height + LINE * (len(first) + len(second) + legend) + (0.15 if legend else 0.05)
    plot = Plot(figsize=(WIDTH, total), layout="constrained", dpi=72)
    # the layout knows only the title: empty lines keep room for what stands below it
    plot.suptitle("\n".join([*first, *[""] * len(second)]), x=LEFT, ha="left", fontsize=8, fontweight="bold")
    below = 1 - (0.03 + LINE * len(first)) / total
    plot.text(LEFT, below, "\n".join(second), fontsize=6.5, color=style.AXIS, va="top")
    return Drawing(plot), plot.add_subplot()


def legend_lines(labels: Sequence[str]) -> tuple[list[str], int, int]:
    """The labels wrapped, the number of columns that they fit in, and the lines that the legend needs."""
    longest = max(map(len, labels), default=0)
    columns = next((count for count in (3, 2) if longest <= PER_LINE // count - 6 and len(labels) > count), 1)
    folded = ["\n".join(wrapped(label, PER_LINE // columns - 6)) for label in labels]
    heights = [label.count("\n") + 1 for label in folded]
    rows = -(-len(labels) // columns)
    lines = max((sum(heights[start : start + rows]) for start in range(0, len(heights), rows or 1)), default=0)
    return folded, columns, lines


def add_legend(drawing: Drawing, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """The legend below the axes, where it covers nothing."""
    folded, columns, _ = legend_lines(labels)
    drawing.plot.legend(
        handles, folded, loc="outside lower left", ncols=columns, frameon=False, handlelength=2.6, columnspacing=1.2
    )


def groups_of(figure: Figure, points: pd.DataFrame) -> list[Group]:
    """The groups that have points, in the order of the option `groups`, or else of the points.

    With the option a group looks the same in every figure of a report, whichever groups a figure lacks.
    """
    found = {str(group): part for group, part in points.groupby("group", sort=False)}
    order = list(dict.fromkeys([*map(str, figure.options.get("groups", ())), *found]))
    return [Group(number, plain(name), found[name]) for number, name in enumerate(order) if name in found]
