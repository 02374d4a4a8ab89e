"""The checked-in page on phi says what its csv says, and the example of a question works."""

from __future__ import annotations

import re
from pathlib import Path

from normbench_cli import suites
from tests.docs.tables import PHI_MUTAG, records
from tests.reporting.reproduction.test_pages import figures_missing

PAGE = Path(__file__).parents[2] / "normbench_cli" / "docs" / "questions.md"


def test_every_figure_of_the_page_on_phi_is_in_the_csv_beside_it() -> None:
    page, table = PHI_MUTAG.with_suffix(".md").read_text(), PHI_MUTAG.read_text()
    assert figures_missing(page, table) == []
    (answer,) = [row["answer"] for row in records(PHI_MUTAG) if row["answer"]]
    assert answer in page


def test_the_page_on_phi_shows_the_suite_as_it_is_now() -> None:
    suite = suites.find("questions/phi-mutag")
    cells = [row for row in records(PHI_MUTAG) if row["row"] and row["ours"]]
    assert {(row["row"], row["column"]) for row in cells} == {(cell.row, cell.column) for cell in suite.cells}
    assert {(row["n"], row["faithful"]) for row in cells} == {("10", "True")}


def test_the_example_of_a_question_is_a_suite(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)
    rest = 'metric = "test/accuracy"\n[settings]\ndata = "digits:size=8"\nmodel = "mlp"\n[columns]\nall = {}\n'
    (tmp_path / "mine.toml").write_text(rest + example)
    found = suites.find(str(tmp_path / "mine.toml"))
    assert [cell.at for cell in found.cells] == [0, 0.9]
    assert found.question is not None


def test_the_table_of_suites_is_complete() -> None:
    listed = re.findall(r"^\| `(questions/[a-z-]+)`", PAGE.read_text(), re.M)
    assert sorted(listed) == [name for name in suites.names() if name.startswith("questions/")]
