"""A suite's question: what its table may say, one line for each mistake, and the questions that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.errors import UsageError
from normbench_cli.experiments.pruning import pruning_of
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.suites import Scale
from normbench_cli.suites.scales import paper_config

QUESTIONS = [name for name in suites.names() if name.startswith("questions/")]
ASKED = """
metric = "test/accuracy@prune:by=gamma,keep={at}"
[settings]
data = "digits:size=8"
model = "mlp"
[question]
text = "Which is best?"
equal = "all else"
along = "share"
[rows]
BN = { norm = "batchnorm" }
LN = { norm = "layernorm" }
[columns]
half = { at = 0.5 }
all = { at = 1, panel = "other" }
"""


def suite_of(tmp_path: Path, text: str) -> suites.Suite:
    (tmp_path / "mine.toml").write_text(text)
    return suites.find(str(tmp_path / "mine.toml"))


def test_cells_have_places_which_stand_in_their_metrics_and_are_no_part_of_the_digest(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ASKED)
    places = [(cell.at, cell.panel, cell.metric.rpartition("=")[2]) for cell in suite.cells[:2]]
    assert places == [(0.5, "", "0.5"), (1, "other", "1")]
    assert suite.question is not None
    assert suite.question.counts("half")
    moved = suite_of(tmp_path, ASKED.replace('panel = "other"', 'panel = "another"'))
    assert moved.digest() == suite.digest()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("text =", "txet =", "did you mean 'text'"),
        ('equal = "all else"', "", "has no 'equal'"),
        ('"Which is best?"', "3", "text is 3; write text"),
        ('along = "share"', 'best = "rnage"', "did you mean 'range'"),
        ('along = "share"', "best = 1", "best is 1; write text"),
        ('along = "share"', 'columns = ["hafl"]', "did you mean 'half'"),
        ('along = "share"', 'columns = "half"', "write a list of columns"),
        ("at = 0.5", 'at = "half"', "write a number"),
        ("at = 0.5", "panel = 1", "write text"),
        ("at = 0.5", "at = nan", "at = nan; give a number"),
        ("at = 0.5", "at = 1e300", "give a number up to 1e\\+12"),
        ('along = "share"\n', 'best = "range"\n[scales.smoke]\nlr = 1.0\n', "^$"),
    ],
    ids=range(12),
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = ASKED.replace(old, new)
    if message == "^$":  # ranges need places, which these columns have
        assert suite_of(tmp_path, text).question is not None
        text, message = text.replace("at = 0.5", "at = 0"), "column half has at = 0"
    with pytest.raises(UsageError, match=message):
        suite_of(tmp_path, text)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_compares_rows_that_differ_and_says_what_is_equal(name: str) -> None:
    suite = suites.find(name)
    question = suite.question
    assert question is not None
    assert question.text.endswith("?")
    assert question.along
    assert len(suite.seeds) >= 12 or suite.over == "folds"  # as many as Holm's correction over twelve rows takes
    kinds = {(cell.settings["norm"], cell.settings.get("act"), cell.metric, cell.at) for cell in suite.cells}
    assert len(kinds) > len(suite.rows)
    for cell in suite.cells:
        pruning = pruning_of(parse_metric(cell.metric).condition)
        assert pruning is None or cell.metric == f"test/accuracy@{pruning}"


@pytest.mark.parametrize("name", QUESTIONS)
def test_all_that_rows_do_not_set_is_equal_for_them(name: str) -> None:
    """Within a column the rows' configurations differ in what the rows say, and in nothing else."""
    suite = suites.find(name)
    for column in suite.columns:
        cells = [cell for cell in suite.cells if cell.column == column]
        configs = [paper_config(cell, 0).to_dict() | {"norm": ""} for cell in cells]
        assert all(config == configs[0] for config in configs)


def test_smoke_keeps_the_batch_sizes_that_are_compared() -> None:
    suite = suites.find("questions/batch-size")
    sizes = {Scale("smoke").config(suite, cell, 0).batch_size for cell in suite.cells}
    assert sizes == {2**power for power in range(1, 10)}
    other = suites.find("questions/depth")
    assert {Scale("smoke").config(other, cell, 0).batch_size for cell in other.cells} == {16}
