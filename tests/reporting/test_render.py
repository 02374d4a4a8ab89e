"""A report as a document, and as JSON."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from normbench_cli.reporting.document import Figure, Table
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.render import to_document, to_json
from normbench_cli.reporting.report import Report

Reported = Callable[[ReportQuery], Report]


def test_json_has_the_statistics_of_every_metric(reported: Reported) -> None:
    with_diverged, finished = to_json(reported(ReportQuery()))["rows"]
    assert finished == {
        "norm": "none",
        "act": "relu",
        "model": "resnet20",
        "data": "digits",
        "objective": "erm",
        "n": 2,
        "not_in_mean": {},
        "metrics": {
            "test/accuracy": {
                "mean": pytest.approx(0.45),
                "sd": pytest.approx(0.0707, rel=1e-3),
                "n": 2,
                "min": 0.4,
                "max": 0.5,
                "ci95_low": pytest.approx(-0.185, rel=1e-2),
                "ci95_high": pytest.approx(1.085, rel=1e-2),
            }
        },
    }
    assert with_diverged["not_in_mean"] == {"diverged": 1}


def test_a_document_has_head_table_notes_figures_and_records(reported: Reported) -> None:
    document = to_document(reported(ReportQuery(curves=["extra"])))
    assert list(document.head) == ["command", "date", "database", "runs", "versions", "runs made with"]
    table, figure = document.blocks
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a|b", "40.00 (n=1)", "1 diverged"],
        ["none", "45.00 ± 7.07 (n=2)", "-"],
    ]
    assert "ddof=1" in table.notes[0]
    assert (figure.kind, figure.name, figure.options) == ("curve", "curve-extra", {"metric": "extra"})
    assert [(row["norm"], row["metric"], row["n"], row["diverged"]) for row in document.records] == [
        ("a|b", "test/accuracy", 1, 1),
        ("none", "test/accuracy", 2, 0),
    ]


def test_every_number_knows_its_runs(reported: Reported) -> None:
    report = reported(ReportQuery())
    (table,) = (block for block in to_document(report).blocks if isinstance(block, Table))
    for row, norm in zip(table.rows, ("a|b", "none"), strict=True):
        runs = report.runs[(report.runs["norm"] == norm) & (report.runs["status"] == "finished")]
        assert set(row[1].runs) == set(runs["id"])


def test_a_limit_holds_for_rows_of_json_too(reported: Reported) -> None:
    found = to_json(reported(ReportQuery(sort="-test/accuracy", limit=1)))
    assert ([row["norm"] for row in found["rows"]], found["left_out"]) == (["none"], 1)
