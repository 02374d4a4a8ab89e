"""Points of a schedule, as people write them; queries and other values that are passed around do not change."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.query import ReportQuery, SchedulePoint, parse_at
from normbench_cli.reporting.statistics import summarize
from normbench_cli.store.location import Location
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.store.rows import Measurements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", SchedulePoint()),
        ("50%", SchedulePoint(fraction=0.5)),
        (" 12.5 %", SchedulePoint(fraction=0.125)),
        ("10", SchedulePoint(epoch=10)),
        ("epoch 10", SchedulePoint(epoch=10)),
        ("epoch=3", SchedulePoint(epoch=3)),
    ],
)
def test_points_of_a_schedule_are_parsed(text: str, expected: SchedulePoint) -> None:
    assert parse_at(text) == expected
    assert expected.is_end == (not text)


@pytest.mark.parametrize("text", ["0%", "101%", "nan%", "half", "epoch", "epoch x", "-1", "1 2", "%", " "])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--at"):
        parse_at(text)


@pytest.mark.parametrize(
    "value",
    [
        ReportQuery(),
        SchedulePoint(),
        summarize([1.0]),
        Location("results.db", Path("results.db")),
        parse_metric("test/accuracy"),
        Measurements({}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_are_passed_around_cannot_change(value: Any) -> None:
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, getattr(value, field.name))


def test_a_query_that_asks_for_nothing_reports_all_trainings_at_their_end() -> None:
    query = ReportQuery()
    assert (query.kind, query.tag, query.at) == ("train", None, "")
    assert not any((query.metrics, query.by, query.where, query.curves))
