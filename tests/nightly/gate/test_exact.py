"""Measurements that repeat to the last digit."""

from __future__ import annotations

import pytest

from normbench_cli.nightly.gate import judge, suspects
from tests.nightly.gate.series_of import day, judged, series

LAST_DIGIT = 0.9000000000000001


def test_the_last_digit_counts_from_the_second_night_on() -> None:
    worse = series([LAST_DIGIT, 0.9], kind="accuracy", higher_is_better=True, exact=True)
    assert suspects(worse)
    assert judge(worse).status == "suspected"
    found = judged([LAST_DIGIT, 0.9], {1: (0.9,)}, kind="accuracy", higher_is_better=True, exact=True)
    assert (found.status, found.since, found.before, found.after) == ("regression", day(1), "r0", "r1")


def test_the_same_again_is_fine() -> None:
    assert judged([LAST_DIGIT] * 9, kind="accuracy", higher_is_better=True, exact=True).status == "fine"


def test_what_no_longer_repeats_is_a_regression_of_that_night() -> None:
    again = {3: (0.9,)}
    found = judged([0.9, 0.9, 0.9, 0.8], again, kind="accuracy", higher_is_better=True, exact=True)
    assert found.status == "regression"
    assert "repeats" in found.reason
    assert judged([0.9, 0.9, 0.9, 0.8, 0.9], again, kind="accuracy", higher_is_better=True, exact=True).status == "fine"


def test_a_second_night_with_the_value_stands_for_a_repetition() -> None:
    assert [judged([7.0, 7.0, 8.0, 8.0][:n], kind="solver", exact=True).status for n in (3, 4)] == [
        "suspected",
        "regression",
    ]
    assert judged([7.0, 7.0, 8.0, 8.0], kind="solver", exact=True).since == day(2)


@pytest.mark.parametrize("nights", [1, 40])
def test_it_stays_a_regression_until_it_is_gone(nights: int) -> None:
    values = [7.0, 7.0, 8.0, *[8.0] * nights]
    found = judged(values, {2: (8.0,)}, kind="solver", exact=True)
    assert (found.status, found.known, found.since, found.expected) == ("regression", True, day(2), 7.0)
    assert not suspects(series(values, {2: (8.0,)}, kind="solver", exact=True))
    gone = judged([*values, 7.0], {2: (8.0,), len(values): (7.0,)}, kind="solver", exact=True)
    assert gone.status == "improvement"
    assert "back to normal" in gone.reason


def test_worse_still_is_new_and_partly_better_is_known() -> None:
    again = {1: (8.0,), 2: (9.0,), 3: (7.5,)}
    found = [judged([7.0, 8.0, 9.0, 7.5][:n], again, kind="solver", exact=True) for n in (2, 3, 4)]
    assert [(one.status, one.known) for one in found] == [("regression", n == 2) for n in range(3)]


def test_an_improvement_is_the_new_reference() -> None:
    again = {1: (90.0,), 2: (95.0,)}
    assert judged([100.0, 90.0], again, kind="memory", exact=True).status == "improvement"
    assert judged([100.0, 90.0, 95.0], again, kind="memory", exact=True).status == "regression"


def test_small_steps_within_a_suites_tolerance_add_up() -> None:
    values = [100.0, 100.4, 100.8, 101.2]
    found = [judge(series(values[:n], kind="memory", exact=True), {"memory": 0.01}).status for n in (2, 3, 4)]
    assert found == ["fine", "fine", "suspected"]
