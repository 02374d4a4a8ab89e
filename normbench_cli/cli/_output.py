"""How results reach a person or a program: a table, one JSON document, a hint."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

Row = Mapping[str, str]


def print_table(rows: Sequence[Row], title: str = "", caption: str = "") -> None:
    """A table on stdout: drawn on a terminal, plain aligned columns elsewhere."""
    if not sys.stdout.isatty():
        say("\n".join([*([title] if title else []), plain(rows), *(["", caption] if caption else [])]))
        return
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
    longest = {column: longest_word(rows, column) for column in columns_of(rows)}
    fits = sum(longest.values()) + 2 * len(longest) + 6 <= console.width  # with the gaps and the edges
    for column in columns_of(rows):
        side: Any = "right" if is_numeric(rows, column) else "left"
        single = is_numeric(rows, column) and not any(" " in row.get(column, "") for row in rows)
        # on a narrow terminal cells fold, between words if that is enough; a number in two pieces would be misread
        least = longest[column] if fits else None
        table.add_column(Text(column), justify=side, no_wrap=single and not fits, min_width=least, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row.get(column, "")) for column in columns_of(rows)))
    console.print(table)


def plain(rows: Sequence[Row]) -> str:
    """Columns of equal width, two spaces apart, numbers to the right."""
    columns = columns_of(rows)
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    lines = [[" ".join(cell.split()) for cell in line] for line in lines]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    right = [is_numeric(rows, column) for column in columns]
    shown = (
        [cell.rjust(width) if end else cell.ljust(width) for cell, width, end in zip(line, widths, right, strict=True)]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in shown)


def columns_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def longest_word(rows: Sequence[Row], column: str) -> int:
    return max(
        (len(word) for text in (column, *(row.get(column, "") for row in rows)) for word in text.split()), default=0
    )


def is_numeric(rows: Sequence[Row], column: str) -> bool:
    cells = [row[column] for row in rows if row.get(column, "-") not in ("", "-")]
    return bool(cells) and all(cell.lstrip("+-")[:1].isdigit() or cell[:3] in ("nan", "inf") for cell in cells)


def print_json(document: Any) -> None:
    """One JSON document on stdout; what JSON has no number for (nan, infinities) is null."""
    say(json.dumps(clean(document), indent=2, allow_nan=False))


def clean(value: Any) -> Any:
    """The same in JSON's own types."""
    if isinstance(value, Mapping):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [clean(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # a number of numpy's or torch's
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def hint(line: str, quiet: bool = False) -> None:
    """A word to the person on stderr, where it is in no program's way."""
    if not quiet:
        say(line, sys.stderr)


def say(text: str, stream: Any = None) -> None:
    """Print, with a question mark for what the stream's encoding does not have."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), file=stream)
