"""Tables drawn by rich on a terminal.  Loads rich: imported when there is a table to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from normbench_cli.cli._columns import Row, column_names, is_numeric, longest_line, longest_word

GAP = 2  # between columns


def draw_table(
    rows: Sequence[Row],
    title: str = "",
    caption: str = "",
    *,
    keys: int = 1,
    styles: Mapping[tuple[int, str], str],
) -> None:
    """On a narrow terminal, text cells wrap between words and numbers stay whole; if that is not enough, the table is
    drawn in parts."""
    console = Console()
    lines = {column: longest_line(rows, column) for column in column_names(rows)}
    words = {column: least_width(rows, column) for column in lines}
    if title:
        console.print(Text(title, style="bold"))
    for number, columns in enumerate(parts_that_fit(words, console.width, keys)):
        if number:
            console.print()
        widths = reduced({column: lines[column] for column in columns}, words, console.width)
        console.print(make_table(rows, widths, styles))
    if caption:
        console.print()
        console.print(Text(caption))


def least_width(rows: Sequence[Row], column: str) -> int:
    """The width that keeps words whole, and numbers with their unit and spread."""
    if not is_numeric(rows, column):
        return longest_word(rows, column)
    return max(longest_word([], column), *(len(row.get(column, "")) for row in rows))


def parts_that_fit(widths: Mapping[str, int], available: int, keys: int = 1) -> list[list[str]]:
    """Split the columns into parts of at most this width, each with the first columns, which name the row."""
    first, rest = list(widths)[:keys], list(widths)[keys:]
    parts = [first.copy()]
    for column in rest:
        used = sum(widths[one] + GAP for one in parts[-1])
        if used + widths[column] > available and len(parts[-1]) > len(first):
            parts.append(first.copy())
        parts[-1].append(column)
    return parts


def reduced(widths: Mapping[str, int], least: Mapping[str, int], available: int) -> dict[str, int]:
    """Widths that fit the terminal: the widest column shrinks first, below its longest word only if it must."""
    found = dict(widths)
    for _ in range(sum(found.values()) + GAP * (len(found) - 1) - available):
        wider = [column for column in found if found[column] > least[column]] or list(found)
        found[max(wider, key=found.__getitem__)] -= 1
    return found


def make_table(rows: Sequence[Row], widths: Mapping[str, int], styles: Mapping[tuple[int, str], str]) -> Table:
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    for column, width in widths.items():
        side: Literal["left", "right"] = "right" if is_numeric(rows, column) else "left"
        table.add_column(Text(column), justify=side, width=width, overflow="fold")
    for number, row in enumerate(rows):
        table.add_row(*(Text(row.get(column, ""), styles.get((number, column), "")) for column in widths))
    return table
