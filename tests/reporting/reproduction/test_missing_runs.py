"""Which runs of the paper's protocol are missing, and the hours that recorded run times give for them."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from normbench_cli import suites
from normbench_cli.reporting.reproduction.missing_runs import missing_runs, recorded_rates
from normbench_cli.suites import Place, Scale, Suite


@pytest.fixture
def suite() -> Suite:
    """Two rows, two columns, ten seeds of 30,000 iterations."""
    table = suites.find("popnorm/table1")
    chosen = [cell for cell in table.cells if "Tanh" in cell.row and "CIFAR10/" in cell.column]
    return replace(table, cells=chosen)


VGG = "VGG16/Tanh"


def test_hours_are_in_proportion_to_the_length_of_the_schedule(suite: Suite) -> None:
    short = Scale("short", 0.01)
    recorded = {Place(suite.name, VGG, "CIFAR10/BatchNorm", 0): "a", Place(suite.name, VGG, "CIFAR10/POP-Norm", 0): "b"}
    found = missing_runs([suite], short, recorded, {"a": 36.0, "b": 72.0})
    assert [(one.row, one.runs) for one in found] == [(VGG, 20), ("ResNet20/Tanh", 20)]
    assert found[0].hours == pytest.approx(10 * (1 + 2))  # 36 and 72 seconds for a hundredth, ten seeds
    assert found[1].hours is None


def test_a_norm_that_was_not_run_takes_as_long_as_the_others(suite: Suite) -> None:
    found = missing_runs(
        [suite], Scale("short", 0.01), {Place(suite.name, VGG, "CIFAR10/BatchNorm", 0): "a"}, {"a": 36.0}
    )
    assert found[0].hours == pytest.approx(20)


def test_what_is_recorded_at_full_scale_is_not_open(suite: Suite) -> None:
    places = [
        Place(suite.name, VGG, cell.column, seed) for cell in suite.cells if cell.row == VGG for seed in range(10)
    ]
    recorded = {place: str(number) for number, place in enumerate(places)}
    (left,) = missing_runs([suite], Scale("full"), recorded, {})
    assert (left.row, left.columns, left.runs) == ("ResNet20/Tanh", ("CIFAR10/BatchNorm", "CIFAR10/POP-Norm"), 20)


def test_stand_ins_tell_nothing_about_the_papers_networks(suite: Suite) -> None:
    recorded = {Place(suite.name, cell.row, cell.column, 0): "a" for cell in suite.cells}
    resnet = missing_runs([suite], Scale("smoke"), recorded, {"a": 1.0})
    assert [one.hours for one in resnet] == [None, None]


def test_the_run_times_of_other_suites_count_where_a_suite_has_none(suite: Suite) -> None:
    config = Scale("short", 0.01).config(suite, suite.cells[0], 0)
    frame = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "kind": "train",
            "status": ["finished", "finished", "running"],
            "config": [config.to_dict()] * 3,
            "started_at": pd.Timestamp("2026-01-31 12:00"),
            "finished_at": pd.Series([pd.Timestamp("2026-01-31 12:01"), pd.Timestamp("2026-01-31 12:03"), pd.NaT]),
        }
    )
    found = missing_runs([suite], Scale("full"), {}, {}, recorded_rates(frame))
    assert found[0].hours == pytest.approx(20 * 120 * 100 / 3600)  # the median of one and three minutes
