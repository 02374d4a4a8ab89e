"""How results are printed: tables for people, one JSON document for programs, hints on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TextIO

Row = Mapping[str, str]


def print_table(rows: Sequence[Row], title: str = "", caption: str = "") -> None:
    """A table on stdout: drawn by rich on a terminal, plain aligned columns elsewhere."""
    if sys.stdout.isatty():
        draw_table(rows, title, caption)
    else:
        echo("\n".join([*([title] if title else []), aligned(rows), *(["", caption] if caption else [])]))


def draw_table(rows: Sequence[Row], title: str, caption: str) -> None:
    """On a narrow terminal cells fold, between words if that is enough; numbers fold last, since a number in two
    lines would be misread."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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


def print_json(document: Any) -> None:
    """One JSON document on stdout; numbers that JSON does not have (nan, infinities) become null."""
    echo(json.dumps(json_value(document), indent=2, allow_nan=False))


def json_value(value: Any) -> Any:
    """A value in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [json_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # a scalar of numpy or torch
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def hint(line: str, quiet: bool = False) -> None:
    """Print a hint to stderr."""
    if not quiet:
        echo(line, sys.stderr)


def echo(text: str, stream: TextIO | None = None) -> None:
    """Print; a character that the stream's encoding does not have becomes a question mark."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), file=stream)
