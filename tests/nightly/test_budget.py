"""Which cells have their turn, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly.budget import REMEASURE_FRACTION, Budget, least_recent_first
from tests.nightly.support import FIRST, suite_of

CELLS = suite_of("a", "b", "c", "d").cells


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_cells_that_were_never_measured_come_first_then_those_measured_longest_ago() -> None:
    last = {"a": FIRST, "c": FIRST - timedelta(days=2)}
    assert [cell.name for cell in least_recent_first(CELLS, last)] == ["b", "d", "c", "a"]


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_within_as_many_nights_as_there_are_cells_each_has_its_turn_once(days: list[int]) -> None:
    last: dict[str, datetime] = {cell.name: FIRST + timedelta(days=day) for cell, day in zip(CELLS, days, strict=True)}
    turns = []
    for night in range(len(CELLS)):
        turns.append(least_recent_first(CELLS, last)[0].name)
        last[turns[-1]] = FIRST + timedelta(days=10 + night)
    assert sorted(turns) == ["a", "b", "c", "d"]


def test_a_part_of_the_budget_is_kept_for_measuring_again() -> None:
    clock = Clock()
    budget = Budget(100.0, clock)
    assert budget.fits(99 * (1 - REMEASURE_FRACTION))
    assert not budget.fits(100 * (1 - REMEASURE_FRACTION) + 1)
    clock.seconds += 90
    assert not budget.fits(None)
    assert budget.limit(1.0, again=True) == budget.left == 10.0


def test_no_cell_may_take_longer_than_the_night() -> None:
    budget = Budget(50.0, Clock())
    for expected in (None, 1.0, 30.0):
        assert budget.limit(expected) <= budget.left_for_cells


def test_a_new_cell_that_hangs_leaves_the_others_their_time() -> None:
    clock = Clock()
    budget = Budget(100.0, clock)
    clock.seconds += budget.limit(None)
    assert budget.fits(None)
    assert budget.left_for_cells >= 40.0


def test_without_a_budget_a_cell_that_takes_ten_times_as_long_as_usual_is_stopped() -> None:
    budget = Budget(None, Clock())
    assert budget.fits(1e9)
    assert budget.limit(60.0) == 600.0
    assert budget.limit(0.1) == 120.0
