"""Writing rows to csv and parquet files in batches, because a table may be larger than memory."""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

Columns = Mapping[str, type]  # name -> the Python type of its values
Values = tuple[Any, ...]
ROWS_AT_ONCE = 50_000


def plain(value: Any) -> Any:
    """Convert JSON to text."""
    return json.dumps(value) if isinstance(value, dict | list) else value


def csv_cell(value: Any) -> Any:
    """A csv cell: empty for None, nan and inf as such, times in UTC."""
    return value.isoformat() if isinstance(value, datetime) else plain(value)


def write_csv(path: Path, columns: Columns, rows: Iterable[Values]) -> int:
    count = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([csv_cell(value) for value in row])
            count += 1
    return count


def write_parquet(path: Path, columns: Columns, rows: Iterable[Values]) -> int:
    """Times are microseconds in UTC; JSON is text."""
    # an extra; `export.parse_format` has checked that it is installed
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    kinds = {int: arrow.int64(), float: arrow.float64(), datetime: arrow.timestamp("us", "UTC")}
    schema = arrow.schema([(name, kinds.get(kind, arrow.string())) for name, kind in columns.items()])
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        for part in parts(rows):
            cells = zip(*part, strict=True)
            arrays = [[plain(value) for value in column] for column in cells]
            writer.write_table(arrow.table(dict(zip(columns, arrays, strict=True)), schema=schema))
            count += len(part)
    return count


def parts(rows: Iterable[Values]) -> Iterator[list[Values]]:
    remaining = iter(rows)
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        yield some


FORMATS: dict[str, Callable[[Path, Columns, Iterable[Values]], int]] = {"csv": write_csv, "parquet": write_parquet}
