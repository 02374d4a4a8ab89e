"""Files of a report: their names, their formats, and what becomes of earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.printable import printable
from normbench_cli.reporting.document import Document
from normbench_cli.reporting.files import FORMATS, parse_formats, write_files
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.render import to_document
from normbench_cli.reporting.report import Report, report_of
from normbench_cli.store import Store
from tests.reporting.documents import document_of


@pytest.fixture
def document(reported: Callable[[ReportQuery], Report]) -> Document:
    return to_document(reported(ReportQuery(curves=["extra"])))


def test_format_names_are_checked() -> None:
    assert parse_formats(" md, csv,") == ["md", "csv"]
    assert parse_formats("markdown,tex,latex") == ["md", "latex"]
    assert parse_formats("") == []
    with pytest.raises(UsageError, match=r"--format pdf is not a format; .*md, latex, html"):
        parse_formats("md,pdf")


def test_files_are_written_and_named_one_by_one(document: Document, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "reports"
    written = list(write_files(document, folder, ["md", "latex", "csv", "json"]))
    names = ["report.md", "report.tex", "report.csv", "report.json", "curve-extra.png", "curve-extra.csv"]
    assert set(names) <= {Path(line).name for line in written}
    assert all(Path(line).stat().st_size for line in written)


def test_a_replaced_file_is_named_with_its_time(tmp_path: Path) -> None:
    assert list(write_files(document_of("t"), tmp_path, ["md"])) == [str(tmp_path / "report.md")]
    (line,) = write_files(document_of("t"), tmp_path, ["md"])
    assert line.startswith(f"{tmp_path / 'report.md'} (replaces the one of 20")


def test_without_files_no_folder_is_made(tmp_path: Path) -> None:
    assert list(write_files(document_of("t"), tmp_path / "reports", [])) == []
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("blocked", ["report.md", "curve-extra.png", "curve-extra.csv"])
def test_a_file_that_cannot_be_written_is_named(document: Document, tmp_path: Path, blocked: str) -> None:
    (tmp_path / blocked).mkdir()  # a folder stands where the file should be
    with pytest.raises(NormbenchError, match=rf"{blocked} cannot be written: .*--out"):
        list(write_files(document, tmp_path, ["md"]))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "parquet"])
def test_each_format_begins_with_the_command(name: str) -> None:
    text = FORMATS[name](document_of("t"))
    assert isinstance(text, str)
    assert "normbench report --tag" in (text if name == "html" else text[:200])


def test_a_file_that_does_not_fit_is_named_with_the_missing_bytes(document: Document, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        with pytest.raises(NormbenchError, match=r"report\.md cannot be written: .* \([\d,]+ bytes missing\); free"):
            list(write_files(document, tmp_path, ["md"]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.glob("report*"))


def test_what_a_terminal_obeys_is_neutral_in_files(two_norms: Store, tmp_path: Path) -> None:
    run_id = two_norms.begin({"norm": "\x1b[31mred", "act": "\u202eevil", "epochs": 1}, "f", {}, argv=[])
    two_norms.record(run_id, {"test/accuracy": 0.5}, epoch=1)
    two_norms.end(run_id, "finished")
    report = report_of(two_norms, ReportQuery(curves=["test/accuracy"]))
    list(write_files(to_document(report), tmp_path, ["md", "csv", "latex", "html", "json"]))
    assert {".md", ".csv", ".tex", ".html", ".json"} <= {path.suffix for path in tmp_path.iterdir()}
    for path in tmp_path.glob("*"):
        if path.is_file() and path.suffix not in (".png", ".db"):
            text = path.read_text(encoding="utf-8")
            assert text == printable(text), path
