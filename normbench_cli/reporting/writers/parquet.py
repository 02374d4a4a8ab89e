"""The numbers behind a document as a parquet table.  Loads pyarrow, which is an extra: imported when one is written."""

from __future__ import annotations

import pandas as pd
import pyarrow
import pyarrow.parquet

from normbench_cli.reporting.document import Document
from normbench_cli.reporting.writers.data import records_of


def to_parquet(document: Document) -> bytes:
    """A table whose metadata hold the head."""
    frame = pd.DataFrame([dict(record) for record in records_of(document)])
    for name in frame.columns:  # a parquet column has one type
        if frame[name].dropna().map(type).nunique() > 1:
            frame[name] = frame[name].map(lambda value: None if value is None else str(value))
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    head = {"title": document.title, **document.head}
    metadata = {**(table.schema.metadata or {}), **{name.encode(): value.encode() for name, value in head.items()}}
    stream = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), stream)
    return bytes(stream.getvalue().to_pybytes())
