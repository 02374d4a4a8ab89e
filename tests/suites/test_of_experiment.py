"""An experiment file as a suite: the same runs as those of `train`, in rows named by what varies."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.errors import UsageError
from normbench_cli.suites import Scale, find

RECIPE = """
[settings]
model = "mlp:width=8"
data = "digits:size=8"
iterations = 2

[[exceptions]]
norm = "popnorm"
lr = 3
"""
EXPERIMENT = """
recipe = "recipe.toml"
norm = ["bn", "popnorm"]
batch_size = [32, 64]
momentum = [0.5, 0.9]
zip = [["batch_size", "momentum"]]
seeds = "0-1"
"""


def test_its_runs_are_those_of_train() -> None:
    Path("recipe.toml").write_text(RECIPE)
    Path("mine.toml").write_text(EXPERIMENT)
    suite = find("mine.toml")
    assert suite.rows == [
        f"{norm}, batch_size={size}, momentum={momentum}"
        for norm in ("batchnorm", "popnorm")
        for size, momentum in ((32, 0.5), (64, 0.9))
    ]
    found = [Scale().config(suite, cell, seed) for cell in suite.cells for seed in suite.seeds]
    assert found == read_experiment("mine.toml").configs()
    assert {config.lr for config in found} == {0.1, 3.0}
    assert Scale("smoke").config(suite, suite.cells[0], 0).iterations == 2


def test_graphs_have_the_score_of_a_cross_validation_and_the_seed_of_their_recipe() -> None:
    Path("mine.toml").write_text("data = 'mutag'\nnorm = ['bn', 'graphnorm']\n")
    suite = find("mine.toml")
    assert (suite.over, suite.seeds, suite.cells[0].metric) == ("folds", (9,), "validation/accuracy@curve_best")


def test_what_no_table_can_show_is_refused() -> None:
    Path("mine.toml").write_text("seeds = '0-1'\nlr = [0.1, 0.2]\nzip = [['seeds', 'lr']]\n")
    with pytest.raises(UsageError, match=r"mine\.toml zips its seeds; run it by `normbench train`"):
        find("mine.toml")
    Path("mine.toml").write_text("model = ['mlp', 'gcn']\ndata = ['digits', 'mutag']\nzip = [['model', 'data']]\n")
    with pytest.raises(UsageError, match=r"mine\.toml has recipes with different seeds"):
        find("mine.toml")


def test_a_file_of_rows_and_columns_is_still_a_suite() -> None:
    Path("mine.toml").write_text("title = 'x'\n")
    with pytest.raises(UsageError, match=r"mine\.toml has no rows"):
        find("mine.toml")
