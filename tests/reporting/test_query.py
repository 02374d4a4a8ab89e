"""Points of a schedule, as people write them."""

from __future__ import annotations

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.query import SchedulePoint, parse_at


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
