"""Colors, dashes and markers that distinguish groups: in color, in print without color, and for color-blind readers.

The colors are five of Okabe and Ito (2008) with a contrast to white of 3 : 1 or more.  The numbers of colors (5),
dashes (4) and markers (9) are pairwise coprime, so neighbors differ in all three and the first 180 groups in at least
one, the first 20 in color or dash.
"""

from __future__ import annotations

from dataclasses import dataclass

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#111111")
COLORS_ON_DARK = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f2f2f2")  # the same order, for dark pages
DASHES = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

INK, AXIS, GRID, PAPER = "#1b1b1b", "#5a5a5a", "#dcdcdc", "#ffffff"


@dataclass(frozen=True)
class GroupStyle:
    """How one group is drawn."""

    color: str
    dash: str | tuple[float, tuple[float, ...]]
    marker: str


def group_style(number: int) -> GroupStyle:
    """The style of the group with this number, from 0."""
    return GroupStyle(COLORS[number % len(COLORS)], DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)])
