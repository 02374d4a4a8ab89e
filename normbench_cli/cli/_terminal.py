"""Tables drawn by rich on a terminal.  Loads rich: imported when there is a table to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from normbench_cli.cli._columns import Row, column_names, is_numeric, longest_word


def draw_table(rows: Sequence[Row], title: str = "", caption: str = "") -> None:
    """On a narrow terminal cells fold, between words if that is enough; numbers fold last, since a number in two
    lines would be misread."""
    console = Console()
    table = Table(
        title=title or None,
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    columns = column_names(rows)
    widths = {column: longest_word(rows, column) for column in columns}
    words_fit = sum(widths.values()) + 2 * len(widths) + 6 <= console.width  # with the gaps and the edges
    for column in columns:
        numeric = is_numeric(rows, column)
        side: Literal["left", "right"] = "right" if numeric else "left"
        one_number = numeric and not any(" " in row.get(column, "") for row in rows)
        least = widths[column] if words_fit else None
        keep_whole = one_number and not words_fit
        table.add_column(Text(column), justify=side, no_wrap=keep_whole, min_width=least, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row.get(column, "")) for column in columns))
    console.print(table)
