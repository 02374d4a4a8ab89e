"""A page that `reproduce` writes: every figure in it is in the csv file beside it, and the same command goes on."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.reporting import files
from normbench_cli.reporting.reproduction.document import make_document
from normbench_cli.reporting.writers.markdown import escape
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale
from tests.reporting.reproduction.test_document import record
from tests.support import RunCommand

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")

STUDY = """
title = "Two norms, two weights"
metric = "test/accuracy"
unit = "%"
seeds = "0-1"

[settings]
data = "digits:size=8"
model = "mlp:width=16,depth=2,size=8"
iterations = 40
batch_size = 32

[rows]
once = {}
thrice = { init_gain = 3.0 }

[columns]
BN = { norm = "batchnorm" }
POP = { norm = "popnorm" }

[published.once]
BN = { value = 97.25, sd = 0.2 }
POP = 98.0

[scales.short]
iterations = 4
seeds = "0"
"""
PAGE = ["--format", "md,csv", "--out", "pages"]


def table_cells(page: str) -> Iterator[str]:
    rows = [line for line in page.splitlines() if line.startswith("|") and not line.startswith("|---")]
    for row in rows:
        yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1])


def sentences(page: str) -> Iterator[str]:
    """The lines that are no table, heading, picture, command or part of the head."""
    lines = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S).splitlines()
    yield from (line for line in lines if line and not line.startswith(("|", "#", "![", "- ")))


def figures_missing(page: str, table: str) -> list[str]:
    """The numbers in the page's tables that no field of the csv file is, rounded to the decimals shown."""
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    fields = {field for row in csv.reader(lines) for field in row}
    numbers = [float(field) for field in fields if NUMBER.fullmatch(field)]
    texts = " ".join(escape(field) for field in fields)
    missing = []
    for cell in table_cells(page):
        for figure in NUMBER.findall(cell):
            decimals = len(figure.partition(".")[2])
            pieces = [piece for piece in cell.removeprefix("no: ").split(", ") if figure in piece]
            same = any(f"{number:.{decimals}f}" == figure for number in numbers)
            if not same and not all(piece in texts for piece in pieces):
                missing.append(figure)
    return missing


def sentence_figures_missing(page: str, table: str) -> list[str]:
    """The numbers in the page's sentences that are not in the csv file."""
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    whole = {escape(field, first=True) for row in csv.reader(lines) for field in row}
    return [figure for line in sentences(page) if line not in whole for figure in NUMBER.findall(line)]


@pytest.fixture
def study(tmp_path: Path) -> str:
    (tmp_path / "study.toml").write_text(STUDY)
    return "study.toml"


@pytest.mark.parametrize("scale", [Scale("full"), Scale("short", 0.02)], ids=lambda scale: scale.name)
def test_every_figure_in_a_page_is_in_the_csv_beside_it(scale: Scale, tmp_path: Path) -> None:
    chosen = suites.select(["popnorm"])
    table1 = next(suite for suite in chosen if suite.name == "popnorm/table1")
    recorded = dict[Place, str]()
    with Store.open() as store:
        for seed, accuracy in enumerate((0.9012, 0.9234, 0.9177)):
            recorded |= record(store, table1, "VGG16/Tanh", "CIFAR10/POP-Norm", {"test/accuracy": accuracy}, seed)
        document = make_document(store, chosen, scale, recorded, {})
    md, table = (Path(line).read_text() for line in files.write_files(document, tmp_path, ["md", "csv"], "page"))
    assert "91.41" in md
    assert figures_missing(md, table) == []
    assert figures_missing(md.replace("91.41", "91.42"), table) == ["91.42"]
    assert sentence_figures_missing(md, table) == []
    assert sentence_figures_missing(md + "\nIt gains 7.1 points.\n", table) == ["7.1"]


@pytest.mark.slow
def test_a_page_of_real_runs_has_its_figures_beside_it_and_the_command_goes_on(
    normbench: RunCommand, study: str, tmp_path: Path
) -> None:
    command = ["reproduce", study, "--scale", "short", "--budget", "60s", *PAGE]
    first = normbench(*command)
    assert first.code == 0, first.err
    page, table = ((tmp_path / "pages" / f"reproduce-study-short.{form}").read_text() for form in ("md", "csv"))
    assert "Runs still needed" in page
    assert "97.25" in page
    assert figures_missing(page, table) == []
    assert figures_missing(page.replace("97.25", "97.26"), table) == ["97.26"]
    assert shown_runs(table) == 4
    (tmp_path / "study.toml").write_text(STUDY.replace("[columns]", "twice = { init_gain = 2.0 }\n\n[columns]"))
    again = normbench(*command)
    assert "4 of 6 runs are recorded; 2 are left" in again.err
    page, table = ((tmp_path / "pages" / f"reproduce-study-short.{form}").read_text() for form in ("md", "csv"))
    assert figures_missing(page, table) == []
    assert shown_runs(table) == 6


def shown_runs(table: str) -> int:
    """Cells with a run, each with its run time."""
    lines = [line for line in table.splitlines() if not line.startswith("#")]
    return sum(bool(row["seconds"]) and float(row["seconds"]) > 0 for row in csv.DictReader(lines))
