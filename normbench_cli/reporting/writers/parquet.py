"""The numbers behind a document as a parquet table.  Loads pandas; writing needs pyarrow, an extra."""

from __future__ import annotations

import io

import pandas as pd

from normbench_cli.reporting.document import Document
from normbench_cli.reporting.writers.data import records_of


def to_parquet(document: Document) -> bytes:
    """A parquet table; pandas reads title and head back as the frame's `attrs`."""
    frame = pd.DataFrame([dict(record) for record in records_of(document)])
    for name in frame.columns:  # a parquet column has one type
        if frame[name].dropna().map(type).nunique() > 1:
            frame[name] = frame[name].map(lambda value: None if value is None else str(value))
    frame.attrs = {"title": document.title, **document.head}
    stream = io.BytesIO()
    frame.to_parquet(stream, engine="pyarrow", index=False)
    return stream.getvalue()
