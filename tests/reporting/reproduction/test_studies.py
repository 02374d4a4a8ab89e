"""A study, which no published number stands beside: a line for each row, and figures along a setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Document, Figure, Table
from normbench_cli.reporting.reproduction.document import make_document
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale
from tests.reporting.reproduction.test_document import record

STUDY = """
title = "Weights"
unit = "%"
metric = "test/accuracy"
[settings]
data = "digits:size=8"
model = "mlp"
[rows]
"once, BN" = { norm = "batchnorm" }
"thrice, BN" = { norm = "batchnorm", init_gain = 3.0 }
"once, POP" = { norm = "popnorm" }
"thrice, POP" = { norm = "popnorm", init_gain = 3.0 }
"lsuv, POP" = { norm = "popnorm", init = "lsuv" }
[columns]
test = {}
loss = { metric = "train/loss", unit = "" }
[figure]
along = "init_gain"
columns = ["test"]
"""


def study(tmp_path: Path, text: str = STUDY) -> suites.Suite:
    (tmp_path / "study.toml").write_text(text)
    return suites.find(str(tmp_path / "study.toml"))


@pytest.fixture
def document(tmp_path: Path) -> Document:
    suite, recorded = study(tmp_path), dict[Place, str]()
    with Store.open() as store:
        for row, accuracy in {"once, BN": 0.5, "thrice, BN": 0.7, "once, POP": 0.6, "lsuv, POP": 0.9}.items():
            found = record(store, suite, row, "test", {"test/accuracy": accuracy, "train/loss": 1.0})
            recorded |= found | {Place(suite.name, row, "loss", 0): run for run in found.values()}
        return make_document(store, [suite], Scale("full"), recorded, {})


def test_a_row_is_a_line_and_what_is_not_recorded_is_named(document: Document) -> None:
    table = next(block for block in document.blocks if isinstance(block, Table))
    assert tuple(table.columns) == ("row", "test", "loss", "n", "s/run")
    assert [[cell.text for cell in row][:4] for row in table.rows[:2]] == [
        ["once, BN", "50.00", "1", "1"],
        ["thrice, BN", "70.00", "1", "1"],
    ]
    assert "Not recorded at this scale: thrice, POP." in table.notes


def test_a_line_of_the_figure_has_several_values_of_the_setting_and_all_others_equal(document: Document) -> None:
    (figure,) = [block for block in document.blocks if isinstance(block, Figure)]
    points = figure.points[["group", "at", "mean", "n"]]
    assert points.to_numpy().tolist() == [["all", 1.0, 0.5, 1], ["all", 3.0, 0.7, 1]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"init_gain"', '"init_gian"', "there is no 'init_gian'; did you mean 'init_gain'"),
        ('["test"]', '["tset"]', "there is no 'tset'; did you mean 'test'"),
        ('["test"]', "[]", "write a list of columns"),
        ("along =", "alnog =", "there is no 'alnog'"),
    ],
)
def test_a_figure_that_is_not_one(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        study(tmp_path, STUDY.replace(old, new))
