"""Rows and columns of a report: pivots, order, limits, and what stays out of the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Cell, Table
from normbench_cli.reporting.layout import MOST_COLUMNS, Layout, p_text, turned
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import report_of
from normbench_cli.store import Store
from tests.many_runs import MadeRun, enter_runs

Make = Callable[..., Layout]


def made_run(run: dict[str, Any]) -> MadeRun:
    settings = {name: value for name, value in run.items() if name not in ("status", "acc")}
    values = [{"test/accuracy": run["acc"], "train/loss": 1 - run["acc"]}] if "acc" in run else []
    return MadeRun({"epochs": 1, **settings}, values, run.get("status", "finished"))


@pytest.fixture
def make(home: object) -> Make:
    """The layout of a report over these runs, each settings and an accuracy."""

    def layout(runs: list[dict[str, Any]], **query: Any) -> Layout:
        with Store.open() as store:
            enter_runs(store, [made_run(run) for run in runs])
            return Layout(report_of(store, ReportQuery(**{"test": False, **query})))

    return layout


def grid(**more: Any) -> list[dict[str, Any]]:
    accuracy = {"batchnorm": 0.9, "popnorm": 0.93, "none": 0.5}
    return [
        {"norm": norm, "data": data, "seed": seed, "acc": accuracy[norm] + seed / 100, **more}
        for norm in accuracy
        for data in ("digits", "cifar10")
        for seed in (0, 2)
    ]


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_setting_across_makes_a_column_of_each_value(make: Make) -> None:
    (table,) = make(grid(), by=["norm"], across=["data"], metrics=["test/accuracy"]).tables()
    assert (table.title, list(table.columns), table.keys) == (
        "test/accuracy (%) by data",
        ["norm", "cifar10", "digits"],
        1,
    )
    assert texts(table)[2] == ["popnorm", "94.00 ± 1.41 (n=2)", "94.00 ± 1.41 (n=2)"]
    assert [cell.bold for cell in table.rows[2]] == [False, True, True]


def test_each_metric_has_a_pivot_of_its_own_and_a_baseline_a_second_one(make: Make) -> None:
    query = {"by": ["norm"], "across": ["data"], "metrics": ["test/accuracy", "train/loss"], "baseline": "bn"}
    tables = make(grid(), **query).tables()
    assert [table.title for table in tables] == [
        "test/accuracy (%) by data",
        "train/loss by data",
        "test/accuracy (%) by data: difference to norm batchnorm",
        "train/loss by data: difference to norm batchnorm",
    ]
    assert texts(tables[2])[0][1] == "0 (baseline)"
    assert texts(tables[2])[2][1] == "+3.00 [3.00, 3.00] p=1 (n=2)"


def test_what_does_not_vary_is_in_the_caption(make: Make) -> None:
    layout = make(grid(act="relu"), by=["norm", "act"], across=["data"])
    assert list(layout.tables()[0].columns)[0:2] == ["norm", "cifar10"]
    assert "In common: act relu, model resnet20, objective erm." in layout.report.notes


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["batchnorm", "none", "popnorm"]),
        ("test/accuracy", ["none", "batchnorm", "popnorm"]),
        ("-test/accuracy", ["popnorm", "batchnorm", "none"]),
        ("train/loss", ["popnorm", "batchnorm", "none"]),
        ("-norm", ["popnorm", "none", "batchnorm"]),
    ],
)
@pytest.mark.parametrize("across", [[], ["data"]], ids=str)
def test_rows_are_sorted(make: Make, sort: str, order: list[str], across: list[str]) -> None:
    assert [label[0] for label in make(grid(), by=["norm"], across=across, sort=sort).rows] == order


@pytest.mark.parametrize("sort", ["test/accuracy", "-test/accuracy"])
def test_rows_without_the_metric_come_last(make: Make, sort: str) -> None:
    runs = [*grid(), {"norm": "groupnorm", "data": "digits", "status": "diverged"}]
    assert list(make(runs, by=["norm"], sort=sort).rows)[-1] == ("groupnorm",)


def test_sorting_by_what_is_not_shown_gets_a_suggestion(make: Make) -> None:
    with pytest.raises(UsageError, match="did you mean 'norm'"):
        make(grid(), by=["norm"], sort="-nrm").tables()


def test_a_limit_says_what_it_leaves_out(make: Make) -> None:
    layout = make(grid(), by=["norm"], sort="-test/accuracy", limit=1)
    assert list(layout.rows) == [("popnorm",)]
    assert list(layout.notes()) == ["1 of 3 rows are shown; --limit 1 leaves out batchnorm, none."]


def test_unfinished_runs_are_counted_in_their_cell_and_never_averaged(make: Make) -> None:
    runs = [
        *grid(),
        {"norm": "none", "data": "digits", "seed": 5, "acc": 0.1, "status": "diverged"},
        {"norm": "groupnorm", "data": "digits", "seed": 5, "acc": 0.1, "status": "failed"},
    ]
    rows = {
        row[0]: row[1:]
        for row in texts(make(runs, by=["norm"], across=["data"], metrics=["test/accuracy"]).tables()[0])
    }
    assert rows["none"] == ["51.00 ± 1.41 (n=2)", "51.00 ± 1.41 (n=2), 1 diverged"]
    assert rows["groupnorm"] == ["", "-, 1 failed"]


def test_siblings_are_told_apart_by_their_parameter(make: Make) -> None:
    runs = [{"norm": norm, "seed": 0, "acc": 0.5} for norm in ("augnorm", "augnorm:phi=1.2")]
    assert sorted(make(runs).rows) == [("augnorm:phi=1.2",), ("augnorm:phi=1.5",)]


def test_many_columns_and_few_rows_are_turned(make: Make) -> None:
    runs = [{"norm": "none", "batch_size": size, "acc": 0.5} for size in range(1, MOST_COLUMNS + 2)]
    (table,) = make(runs, by=["norm"], across=["batch_size"], metrics=["test/accuracy"]).tables()
    assert list(table.columns) == ["batch_size", "none"]
    assert [row[0].text for row in table.rows] == [str(size) for size in range(1, MOST_COLUMNS + 2)]


def test_turning_keeps_every_cell() -> None:
    table = Table("t", ["a", "b", "x", "y"], [[Cell("1"), Cell("2"), Cell("3"), Cell("4")]], keys=2)
    assert (list(turned(table, "c").columns), texts(turned(table, "c"))) == (["c", "1 2"], [["x", "3"], ["y", "4"]])


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "p=1"), (0.5, "p=0.5"), (0.03125, "p=0.031"), (0.0004, "p<0.001"), (float("nan"), "p=-")]
)
def test_p_values_are_short(p: float, text: str) -> None:
    assert p_text(p) == text
