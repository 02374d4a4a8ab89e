"""How results are printed: tables or one JSON document on stdout, hints on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from normbench_cli.cli._columns import Row, aligned
from normbench_cli.printable import masked, printable


def print_table(
    rows: Sequence[Row],
    title: str = "",
    caption: str = "",
    *,
    keys: int = 1,
    styles: Mapping[tuple[int, str], str] | None = None,
) -> None:
    """Print a table on stdout: drawn by rich on a terminal, plain aligned columns elsewhere.

    keys: how many of the first columns name a row; a table drawn in parts repeats them.  styles: by row and column.
    """
    if sys.stdout.isatty():
        from normbench_cli.cli._terminal import draw_table

        shown = [{printable(name): printable(text) for name, text in row.items()} for row in rows]
        marked = {(row, printable(name)): style for (row, name), style in (styles or {}).items()}
        draw_table(shown, printable(title), printable(caption), keys=keys, styles=marked)
    else:
        echo("\n".join([*([title] if title else []), aligned(rows), *(["", caption] if caption else [])]))


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; NaN and infinities, which JSON lacks, become null."""
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
    """Print, safely for a terminal and with passwords masked; characters that the stream cannot encode become question
    marks."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(printable(masked(text)).encode(encoding, "replace").decode(encoding), file=stream)
