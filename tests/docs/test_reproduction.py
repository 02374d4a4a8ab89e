"""The checked-in pages of what was reproduced: every figure is in the csv beside its page, and they are Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from normbench_cli.store import Store
from normbench_cli.store.merge import merge
from normbench_cli.store.queries import runs_frame
from tests.docs.study import FOLDER
from tests.docs.tables import records
from tests.reporting.reproduction.test_pages import figures_missing, sentence_figures_missing

PAGES = sorted(FOLDER.glob("reproduce-*.md"))
ALL = [FOLDER / "README.md", *PAGES]
MOST_BYTES = 3 * 2**20


def cells_of(line: str) -> int:
    return len(re.split(r"(?<!\\)\|", line.strip())) - 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_figure_is_in_the_csv_beside_it(page: Path) -> None:
    text, table = page.read_text(), page.with_suffix(".csv").read_text()
    assert figures_missing(text, table) == []
    assert sentence_figures_missing(text, table) == []


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_the_tables_of_a_page_have_equal_lines_and_its_pictures_are_there(page: Path) -> None:
    text = page.read_text()
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    assert tables
    for table in tables:
        lines = table.splitlines()
        assert {cells_of(line) for line in lines} == {cells_of(lines[0])}
        assert re.fullmatch(r"\|(?: ?:?-+:? ?\|)+", lines[1])
    for target in re.findall(r"\]\(<?([^)>]+)>?\)", text):
        assert "://" in target or (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_how_many_runs_and_which_schedule(page: Path) -> None:
    text, rows = page.read_text(), records(page.with_suffix(".csv"))
    assert re.search(r"^\| row \|.*\| n \|", text, re.M)
    for schedule in {row["schedule"] for row in rows if row["schedule"]}:
        assert re.search(rf"^Scale [a-z]+: .*{re.escape(schedule)}", text, re.M)


def test_the_kept_runs_are_those_of_the_pages_and_small(tmp_path: Path) -> None:
    kept = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) < MOST_BYTES
    shown = {run for page in PAGES for row in records(page.with_suffix(".csv")) for run in row.get("runs", "").split()}
    with Store.open(str(tmp_path / "here.db")) as store:
        merge(store, [str(FOLDER / "runs")])
        assert shown <= set(runs_frame(store)["id"])
