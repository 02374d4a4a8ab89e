"""CSV, JSON and parquet: the numbers behind a document."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Cell, Document, Table
from normbench_cli.reporting.files import parse_formats, to_parquet
from normbench_cli.reporting.writers.data import records_of, to_csv, to_json
from tests.reporting.documents import HEAD, NASTY, document_of

RECORDS: list[dict[str, Any]] = [
    {"norm": NASTY, "epochs": None, "mean": 0.5, "sd": math.nan, "n": 1},
    {"norm": "# no comment", "epochs": 3, "mean": math.inf, "sd": 0.1, "n": 2},
]
DOCUMENT = replace(document_of("t"), records=RECORDS)


def test_csv_begins_with_comments_and_quotes_text() -> None:
    text = to_csv(DOCUMENT)
    assert text.splitlines()[:2] == ["# title: t", "# command: normbench report --tag 'x y'"]
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# "))
    rows = list(csv.DictReader(io.StringIO(body)))
    assert [row["norm"] for row in rows] == [record["norm"] for record in RECORDS]
    assert [(row["epochs"], row["mean"], row["sd"], row["n"]) for row in rows] == [
        ("", "0.5", "", "1"),
        ("3", "inf", "0.1", "2"),
    ]


def test_pandas_reads_the_csv_with_its_comments() -> None:
    frame = pd.read_csv(io.StringIO(to_csv(DOCUMENT)), comment="#")
    assert frame["norm"].tolist()[1] == "# no comment"
    assert frame["n"].tolist() == [1, 2]


def test_json_has_head_rows_and_tables() -> None:
    found = json.loads(to_json(DOCUMENT))
    assert found["head"] == HEAD | {"runs": "t"}
    assert found["rows"][0] == {"norm": NASTY, "epochs": None, "mean": 0.5, "sd": None, "n": 1}
    assert found["rows"][1]["mean"] is None
    assert found["tables"][0]["rows"][0] == ["t", "1.00 ± 0.10 (n=2)"]


def test_without_records_the_rows_are_those_of_the_tables() -> None:
    tables = [Table(title, ["norm", "mean"], [[Cell("a"), Cell("1 (n=1)", 1.0)]]) for title in ("x", "y")]
    assert records_of(Document("t", {}, tables[:1])) == [{"norm": "a", "mean": 1.0}]
    assert [row["table"] for row in records_of(Document("t", {}, tables))] == ["x", "y"]


def test_parquet_has_the_records_and_the_head() -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    frame = pd.read_parquet(io.BytesIO(to_parquet(DOCUMENT)))
    assert frame.attrs["command"] == HEAD["command"]
    assert frame["norm"].tolist() == [record["norm"] for record in RECORDS]
    assert frame["n"].tolist() == [1, 2]


def test_columns_of_mixed_values_become_text_in_parquet() -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    mixed = replace(DOCUMENT, records=[{"a": "x"}, {"a": 1}, {"a": None}])
    frame = pd.read_parquet(io.BytesIO(to_parquet(mixed)))
    assert frame["a"].tolist()[:2] == ["x", "1"]
    assert frame["a"].isna().tolist() == [False, False, True]


def test_without_pyarrow_parquet_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(
        "normbench_cli.reporting.files.find_spec", lambda name: None if name == "pyarrow" else find(name)
    )
    with pytest.raises(UsageError, match=r"needs the package pyarrow; pip install"):
        parse_formats("parquet")
