"""The columns of a table of texts: their names, widths and alignment, and the table as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = Mapping[str, str]  # column -> text


def aligned(rows: Sequence[Row]) -> str:
    """Columns of equal width, two spaces apart, numbers to the right."""
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


def longest_word(rows: Sequence[Row], column: str) -> int:
    texts = [column, *(row.get(column, "") for row in rows)]
    return max((len(word) for text in texts for word in text.split()), default=0)


def is_numeric(rows: Sequence[Row], column: str) -> bool:
    cells = [row[column] for row in rows if row.get(column, "-") not in ("", "-")]
    return bool(cells) and all(cell.lstrip("+-")[:1].isdigit() or cell[:3] in ("nan", "inf") for cell in cells)
