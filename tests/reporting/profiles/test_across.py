"""`report --kind profile`: cells by date, host or version, as ratios to a baseline of the same profile."""

from __future__ import annotations

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Figure, Table
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.render import to_document, to_json
from normbench_cli.reporting.report import report_of
from normbench_cli.store import Store
from tests.reporting.profiles.conftest import Enter


def table_of(store: Store, **query: object) -> tuple[list[str], list[list[str]]]:
    document = to_document(report_of(store, ReportQuery(kind="profile", **query)))  # type: ignore[arg-type]
    table = document.blocks[0]
    assert isinstance(table, Table)
    return list(table.columns), [[cell.text for cell in row] for row in table.rows]


def test_a_column_a_date_with_ratios_and_milliseconds_beside(store: Store, enter: Enter) -> None:
    enter({"batchnorm": [1.0, 2.0], "popnorm": [2.0, 4.0]})
    enter({"batchnorm": [10.0, 20.0], "popnorm": [30.0, 60.0]}, day=1)
    columns, rows = table_of(store)
    assert columns == ["norm", "at", "2026-03-01", "2026-03-01 ms", "2026-03-02", "2026-03-02 ms"]
    assert rows[0][:3] == ["batchnorm", "8x4", "1.00 [1.00, 1.00]"]
    assert rows[1] == ["popnorm", "8x4", "2.00 [2.00, 2.00]", "3.000", "3.00 [3.00, 3.00]", "45.000"]


def test_the_newest_of_a_column_is_shown_and_all_are_in_the_records(store: Store, enter: Enter) -> None:
    for factor in (2.0, 5.0):
        enter({"batchnorm": [1.0], "popnorm": [factor]}, day=factor / 100, host=f"h{factor:g}")
    report = report_of(store, ReportQuery(kind="profile"))
    assert len(to_json(report)["rows"]) == len(to_document(report).records) == 4
    _, rows = table_of(store)
    assert "5.00 [5.00, 5.00]" in rows[1]
    columns, rows = table_of(store, across=["host"], by=["torch"], where=["norm=popnorm"])
    assert columns == ["norm", "at", "torch", "h2", "h2 ms", "h5", "h5 ms"]
    assert rows == [["popnorm", "8x4", "2.9", "2.00 [2.00, 2.00]", "2.000", "5.00 [5.00, 5.00]", "5.000"]]


def test_another_baseline_and_a_profile_without_one(store: Store, enter: Enter) -> None:
    enter({"none": [1.0], "popnorm": [3.0]})
    assert table_of(store)[1][1][2] == "-"
    assert table_of(store, baseline="none")[1][1][2] == "3.00 [3.00, 3.00]"
    with pytest.raises(UsageError, match="no profile has it"):
        table_of(store, baseline="augnorm")
    with pytest.raises(UsageError, match="did you mean 'torch'"):
        table_of(store, across=["torhc"])


def test_more_than_two_dates_make_a_trend(store: Store, enter: Enter) -> None:
    for day in range(3):
        enter({"batchnorm": [1.0, 1.0], "popnorm": [2.0 + day, 2.0]}, day=day)
        figures = [
            block
            for block in to_document(report_of(store, ReportQuery(kind="profile"))).blocks
            if isinstance(block, Figure)
        ]
        assert len(figures) == (day == 2)
    assert figures[0].kind == "trend"
    assert figures[0].points["mean"].tolist() == [2.0, 2.5, 3.0]
    assert set(figures[0].points["group"]) == {"popnorm"}


def test_metrics_that_are_asked_for_are_shown_as_before(store: Store, enter: Enter) -> None:
    ids = enter({"batchnorm": [1.0]})
    store.record(ids["batchnorm"], {"outliers@8x4": 3.0})
    report = report_of(store, ReportQuery(kind="profile", metrics=["outliers@8x4"]))
    assert report.profiles is None
