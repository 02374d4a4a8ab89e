"""normbench report: tables on stdout, files, exit codes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import RunCommand


@pytest.fixture
def two_norms(enter: Callable[..., Any], fill_once: Callable[..., Any]) -> None:
    def make() -> None:
        for norm, seed in itertools.product(("batchnorm", "popnorm"), range(3)):
            enter(0.5, 0.9 + seed / 100 + (norm == "popnorm") / 50, norm=norm, seed=seed)

    fill_once(make)


def test_the_table(normbench: RunCommand, two_norms: None, tmp_path: Path) -> None:
    ended = normbench("report")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "norm        test/accuracy (%)             train/loss",
        "batchnorm  91.00 ± 1.00 (n=3)  0.5000 ± 0.0000 (n=3)",
        "popnorm    93.00 ± 1.00 (n=3)  0.5000 ± 0.0000 (n=3)",
        "",
        "± is the sample standard deviation (sd, ddof=1) over n runs that differ in seed.",
        "In common: act relu, model resnet20, data digits, objective erm.",
    ]
    assert ended.err == "written: reports/report.md\n"
    assert "| popnorm | **93.00 ± 1.00 (n=3)** |" in (tmp_path / "reports" / "report.md").read_text()


def test_json_is_one_document(normbench: RunCommand, two_norms: None, tmp_path: Path) -> None:
    ended = normbench("report", "--json", "--metric", "test/accuracy", "--at", "50%")
    assert ended.err == ""
    document = json.loads(ended.out)
    assert list(document) == ["rows"]
    assert [(row["norm"], row["n"], row["metrics"]["test/accuracy"]["mean"]) for row in document["rows"]] == [
        ("batchnorm", 3, 0.5),
        ("popnorm", 3, 0.5),
    ]
    assert not (tmp_path / "reports").exists()


def test_a_single_run_has_no_sd_and_json_no_nan(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    enter(0.5)
    row = json.loads(normbench("report", "--json").out)["rows"][0]
    assert row["metrics"]["test/accuracy"] == {
        "mean": 0.5, "sd": None, "n": 1, "min": 0.5, "max": 0.5, "ci95_low": None, "ci95_high": None
    }  # fmt: skip
    assert "±" not in normbench("report", "-q").out


def test_unfinished_runs_are_counted_beside_the_mean(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    enter(0.5, seed=0)
    enter(0.1, seed=1, status="diverged")
    enter(0.1, seed=2, status="failed")
    assert "50.00 (n=1)" in normbench("report").out
    assert "1 diverged, 1 failed" in normbench("report").out


def test_of_repeated_runs_only_the_newest_counts(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    for accuracy in (0.1, 0.2, 0.3):
        enter(accuracy)
    assert "30.00 (n=1)" in normbench("report").out


def test_files_are_written_to_the_given_folder(normbench: RunCommand, two_norms: None, tmp_path: Path) -> None:
    assert normbench("report", "--format", "", "--out", "elsewhere").code == 0
    assert not (tmp_path / "elsewhere").exists()
    ended = normbench("report", "--format", "csv,md", "--out", "elsewhere", "-q")
    assert ended.err == ""
    assert sorted(file.name for file in (tmp_path / "elsewhere").iterdir()) == ["report.csv", "report.md"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--format", "pdf"], 2, "md, latex, html, csv, json, parquet"),
        (["--by", "nrm"], 2, "did you mean 'norm'"),
        (["--where", "norm"], 2, "key=value"),
        (["--where", "seed=1 and nrm=bn"], 2, "character 12"),
        (["--across", "dta"], 2, "did you mean 'data'"),
        (["--by", "data", "--across", "data"], 2, "in --by and in --across"),
        (["--sort", "test/acc"], 2, "did you mean 'test/accuracy'"),
        (["--baseline", "batchnrm"], 2, "did you mean 'batchnorm'"),
        (["--where", "norm=popnrm"], 2, "popnrm"),
        (["--where", "epochs=x"], 2, "epochs=x"),
        (["--at", "sometime"], 2, "--at"),
        (["--metric", "test/acc"], 4, "test/accuracy"),
        (["--tag", "unknown"], 4, "no run"),
        (["--kind", "profile"], 4, "no run of kind 'profile' is recorded; `normbench profile` makes some"),
        (["--kind", "trian"], 2, "--kind trian is not a kind of runs to report; did you mean 'train'"),
        (["--db", "none.db"], 4, "no database at none.db"),
        (["--db", "."], 1, "is a folder"),
    ],
    ids=str,
)
def test_what_cannot_be_reported_is_a_one_line_error(
    normbench: RunCommand, two_norms: None, tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    ended = normbench("report", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert says in ended.err
    assert not (tmp_path / "reports").exists()
    assert not (tmp_path / "none.db").exists()


def test_an_earlier_file_is_not_replaced_in_silence(normbench: RunCommand, two_norms: None) -> None:
    assert normbench("report").err == "written: reports/report.md\n"
    assert normbench("report").err.startswith("written: reports/report.md (replaces the one of 20")


def test_an_unwritable_folder_is_an_error_below_the_table(
    normbench: RunCommand, two_norms: None, tmp_path: Path
) -> None:
    (tmp_path / "reports").mkdir(mode=0o555)
    ended = normbench("report")
    assert ended.code == 1
    assert "popnorm" in ended.out
    assert "--out" in ended.err


def test_a_read_only_database_can_be_reported(normbench: RunCommand, two_norms: None, home: Path) -> None:
    (home / "normbench.db").chmod(0o444)
    assert "popnorm" in normbench("report").out
