"""The numbers behind a document for other programs: CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from normbench_cli.reporting.document import Document, Table

Record = Mapping[str, Any]


def records_of(document: Document) -> Sequence[Record]:
    """The records, or the rows of the tables: a cell's number if it has one, else its text."""
    if document.records:
        return document.records
    tables = [block for block in document.blocks if isinstance(block, Table)]
    titled = {"table": ""} if len(tables) > 1 else {}
    return [
        dict.fromkeys(titled, table.title)
        | {name: cell.text if cell.value is None else cell.value for name, cell in zip(table.columns, row, strict=True)}
        for table in tables
        for row in table.rows
    ]


def column_names(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record))


def to_csv(document: Document) -> str:
    """Comma-separated values below comment lines that begin with #; all text is in quotes."""
    text, records = io.StringIO(), records_of(document)
    for name, value in {"title": document.title, **document.head}.items():
        text.write(f"# {' '.join(f'{name}: {value}'.split())}\n")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    columns = column_names(records)
    writer.writerow(columns)
    writer.writerows([csv_value(record.get(name)) for name in columns] for record in records)
    return text.getvalue()


def csv_value(value: Any) -> Any:
    """Empty for missing values and nan; infinities unchanged."""
    return "" if value is None or value != value else value


def to_json(document: Document) -> str:
    """One JSON document: head, rows, and the tables as shown to people."""
    tables = [
        {"title": block.title, "columns": list(block.columns), "notes": list(block.notes)}
        | {"rows": [[cell.text for cell in row] for row in block.rows]}
        for block in document.blocks
        if isinstance(block, Table)
    ]
    content = {"title": document.title, "head": dict(document.head), "rows": list(records_of(document))}
    return json.dumps(finite(content | {"tables": tables}), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def finite(value: Any) -> Any:
    """The same in JSON's types; numbers that JSON lacks become null."""
    if isinstance(value, Mapping):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
