"""Critical-difference diagram (Demsar 2006): mean ranks on an axis, 1 (the best) at the left; a bar joins groups whose
ranks differ by less than the critical difference, i.e. not significantly.

Columns of the points, one per group: group, rank; runs if known.  Options: cd (the critical difference), n (how many
data sets were ranked), across (what to call them if they are not data sets), p (of Friedman's test).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.drawing import LINE, PER_LINE, Drawing, new_drawing
from normbench_cli.reporting.plots.style import COLORS, INK
from normbench_cli.reporting.plots.text import plain, wrapped

NAME_WIDTH = 18  # characters; names are on both sides of the axis
BAR = 0.4  # distance between bars, in rows
TOP = -2.1  # position of the ruler, in rows above the axis


def draw(figure: Figure) -> Drawing:
    points = figure.points.sort_values("rank", kind="stable")
    names, ranks = [plain(str(group)) for group in points["group"]], points["rank"].astype(float).tolist()
    cd = float(figure.options.get("cd", math.nan))
    bars = joined_groups(ranks, cd)
    labels = ["\n".join(wrapped(f"{name}  {rank:.2f}", NAME_WIDTH)) for name, rank in zip(names, ranks, strict=True)]
    places = name_places(labels, first=0.9 + BAR * len(bars))
    depth = max(places) + 0.6
    drawing, axes = new_drawing(figure.title, subtitle(cd, figure.options), 1.25 * LINE * (depth - TOP + 0.5))
    draw_axis(axes, labels, depth)
    runs = points["runs"] if "runs" in points else [()] * len(points)
    for number, (name, rank, own) in enumerate(zip(names, ranks, runs, strict=True)):
        draw_name(axes, labels, number, rank, places[number])
        drawing.mark(axes, rank, 0, name, f"{name}: mean rank {rank:.2f}", own)
    for number, (low, high) in enumerate(bars):
        y = 0.55 + BAR * number
        axes.plot([ranks[low] - 0.03, ranks[high] + 0.03], [y, y], color=COLORS[1], linewidth=3, solid_capstyle="butt")
    if math.isfinite(cd):
        draw_ruler(axes, cd)
    return drawing


def subtitle(cd: float, options: Mapping[str, Any]) -> str:
    over = f" over {options['n']} {options.get('across', 'data sets')}" if "n" in options else ""
    bars = f"; a bar joins groups less than CD = {cd:.2f} apart" if math.isfinite(cd) else ""
    test = f"; Friedman's test that all are equal: p = {options['p']:.2g}" if "p" in options else ""
    return f"mean rank{over}, 1 is best{bars}{test}"


def joined_groups(ranks: Sequence[float], cd: float) -> list[tuple[int, int]]:
    """The longest ranges of sorted ranks that lie less than the critical difference apart: first and last index."""
    found: list[tuple[int, int]] = []
    for low, rank in enumerate(ranks):
        high = max((index for index in range(low, len(ranks)) if ranks[index] - rank < cd), default=low)
        if high > low and not (found and found[-1][1] >= high):
            found.append((low, high))
    return found


def name_places(labels: Sequence[str], first: float) -> list[float]:
    """The row of each name: the better half at the left, best first, the others at the right, worst first."""
    places = [0.0] * len(labels)
    half = (len(labels) + 1) // 2
    for side in (range(half), range(len(labels) - 1, half - 1, -1)):
        y = first
        for number in side:
            lines = labels[number].count("\n") + 1
            places[number] = y + (lines - 1) / 2
            y += lines
    return places


def draw_axis(axes: Axes, labels: Sequence[str], depth: float) -> None:
    """Ranks from 1 to the number of groups, with space for the names on both sides."""
    high = max(len(labels), 2)
    half = (len(labels) + 1) // 2
    left, right = (max_width(labels[:half]) / PER_LINE, max_width(labels[half:]) / PER_LINE)
    unit = (high - 1) / max(1 - left - right, 0.2)
    axes.set_xlim(1 - left * unit, high + right * unit)
    axes.set_ylim(depth, TOP - 0.5)
    axes.yaxis.set_visible(False)
    axes.grid(visible=False)
    for side in ("bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["top"].set_visible(True)
    axes.spines["top"].set_position(("data", 0))
    axes.spines["top"].set_bounds(1, high)
    axes.xaxis.tick_top()
    axes.xaxis.set_major_locator(FixedLocator(range(1, high + 1, -(-high // 10))))


def max_width(labels: Sequence[str]) -> int:
    return max((len(line) for label in labels for line in label.split("\n")), default=0)


def draw_name(axes: Axes, labels: Sequence[str], number: int, rank: float, y: float) -> None:
    """A line from the rank down and out to the name."""
    left = number < (len(labels) + 1) // 2
    edge = 1 - 0.02 * len(labels) if left else max(len(labels), 2) + 0.02 * len(labels)
    axes.plot([rank, rank, edge], [0, y, y], color=INK, linewidth=0.7)
    axes.annotate(
        labels[number],
        (edge, y),
        (-3 if left else 3, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        fontsize=7,
    )


def draw_ruler(axes: Axes, cd: float) -> None:
    """The critical difference as a length, above the axis."""
    axes.plot([1, 1 + cd], [TOP, TOP], color=COLORS[1], linewidth=3, solid_capstyle="butt")
    axes.annotate(f"CD {cd:.2f}", (1 + cd, TOP), (4, 0), textcoords="offset points", va="center", fontsize=7)
