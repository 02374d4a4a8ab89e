"""The columns of a text table: their names, widths and alignment, and the table as plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Row = Mapping[str, str]  # column -> text
NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d*)?(e[+-]?\d+)?|nan|inf)%?(\s|$)")


def aligned(rows: Sequence[Row]) -> str:
    """Align columns, two spaces apart, numbers to the right."""
    columns = column_names(rows)
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    lines = [[" ".join(cell.split()) for cell in line] for line in lines]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    right = [is_numeric(rows, column) for column in columns]
    shown = (
        [cell.rjust(width) if end else cell.ljust(width) for cell, width, end in zip(line, widths, right, strict=True)]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in shown)


def column_names(rows: Sequence[Row]) -> list[str]:
    """The columns of all rows, in the order in which they appear."""
    return list(dict.fromkeys(column for row in rows for column in row))


def texts_of(rows: Sequence[Row], column: str) -> list[str]:
    """A column's name and cells."""
    return [column, *(row.get(column, "") for row in rows)]


def longest_line(rows: Sequence[Row], column: str) -> int:
    return max((len(line) for text in texts_of(rows, column) for line in text.splitlines()), default=0)


def longest_word(rows: Sequence[Row], column: str) -> int:
    return max((len(word) for text in texts_of(rows, column) for word in text.split()), default=0)


def is_numeric(rows: Sequence[Row], column: str) -> bool:
    """Whether every nonempty cell begins with a number; a unit or an interval may follow."""
    cells = [row[column] for row in rows if row.get(column, "-") not in ("", "-")]
    return bool(cells) and all(map(NUMBER.match, cells))
