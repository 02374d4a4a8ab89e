"""A report as JSON, Markdown and CSV, and the files it is written to."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.reporting import render
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report

Reported = Callable[[ReportQuery], Report]


def test_json_has_the_statistics_of_every_metric(reported: Reported) -> None:
    with_diverged, finished = render.to_json(reported(ReportQuery()))["rows"]
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


def test_markdown_is_a_table_with_its_notes(reported: Reported) -> None:
    lines = render.to_markdown(reported(ReportQuery())).splitlines()
    assert lines[2:6] == [
        "| norm | test/accuracy (%) | not in the mean |",
        "| --- | --- | --- |",
        "| a\\|b | 40.00 (n=1) | 1 diverged |",
        "| none | 45.00 ± 7.07 (n=2) | - |",
    ]
    assert "ddof=1" in lines[7]


def test_csv_has_numbers_as_recorded(reported: Reported) -> None:
    text = render.to_csv(reported(ReportQuery()))
    assert text.splitlines()[0] == (
        "norm,act,model,data,objective,metric,mean,sd,n,min,max,ci95_low,ci95_high,diverged,failed,interrupted,running"
    )
    assert text.endswith("\n")
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["norm"], row["metric"], row["n"], row["diverged"]) for row in rows] == [
        ("a|b", "test/accuracy", "1", "1"),
        ("none", "test/accuracy", "2", "0"),
    ]
    assert float(rows[1]["mean"]) == pytest.approx(0.45)
    assert rows[0]["sd"] == ""
    assert not any(None in row for row in rows)  # as many cells as columns


def test_format_names_are_checked() -> None:
    assert render.parse_formats(" md, csv,") == ["md", "csv"]
    assert render.parse_formats("") == []
    with pytest.raises(UsageError, match="--format pdf is not one of md, csv"):
        render.parse_formats("md,pdf")


def test_files_are_written_and_named_one_by_one(reported: Reported, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "reports"
    written = list(render.write_files(reported(ReportQuery(curves=["extra"])), folder, ["md", "csv"]))
    assert [path.name for path in written] == [
        "report.md",
        "report.csv",
        "curve-extra.svg",
        "curve-extra.png",
        "curve-extra.csv",
    ]
    assert all(path.stat().st_size for path in written)


def test_without_files_no_folder_is_made(reported: Reported, tmp_path: Path) -> None:
    assert list(render.write_files(reported(ReportQuery()), tmp_path / "reports", [])) == []
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("blocked", ["report.md", "curve-extra.png", "curve-extra.csv"])
def test_a_file_that_cannot_be_written_is_named(reported: Reported, tmp_path: Path, blocked: str) -> None:
    (tmp_path / blocked).mkdir()  # a folder stands where the file should be
    with pytest.raises(NormbenchError, match=rf"{blocked} cannot be written: .*--out"):
        list(render.write_files(reported(ReportQuery(curves=["extra"])), tmp_path, ["md"]))
