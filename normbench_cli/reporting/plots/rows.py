"""Plots with a row for each group: the names at the left, the values to their right."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from normbench_cli.reporting.plots.drawing import LINE
from normbench_cli.reporting.plots.text import wrapped

NAME_WIDTH = 24  # characters of a name before it is wrapped


def rows_height(names: Sequence[str], parts: int = 1) -> float:
    """The height of these rows, each with this many parts, and of the axis below them."""
    lines = sum(max(len(wrapped(name, NAME_WIDTH)), 0.75 * parts) for name in names)
    return 0.55 + 1.25 * LINE * max(lines, 3)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names beside the rows, the first at the top."""
    axes.set_yticks(range(len(names)), ["\n".join(wrapped(name, NAME_WIDTH)) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def offsets(parts: int, height: float = 0.7) -> list[float]:
    """The vertical offsets of a row's parts from its center."""
    return [height * ((number + 0.5) / parts - 0.5) for number in range(parts)]
