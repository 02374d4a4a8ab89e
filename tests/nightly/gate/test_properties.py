"""What holds for the gate whatever a history looks like."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.nightly.gate import REMEASUREMENTS, changes, judge, suspects
from normbench_cli.nightly.gate.band import band_of, median
from normbench_cli.nightly.gate.policy import POLICIES
from normbench_cli.nightly.series import Finding, Kind, Series
from tests.nightly.gate.series_of import series

times = st.floats(90, 110)
anything = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324]))
histories = st.lists(times, min_size=1, max_size=30)
repetitions = st.dictionaries(st.integers(0, 29), st.lists(times, max_size=REMEASUREMENTS), max_size=10)
every_repetition = st.lists(times, min_size=REMEASUREMENTS, max_size=REMEASUREMENTS)
kinds: st.SearchStrategy[Kind] = st.sampled_from(["time", "memory", "accuracy", "solver"])


def scaled(one: Series, factor: float) -> Series:
    points = tuple(replace(p, value=p.value * factor, again=tuple(v * factor for v in p.again)) for p in one.points)
    return replace(one, points=points)


def told(found: Finding) -> tuple[object, ...]:
    return found.status, found.since, found.known, found.before, found.after


@settings(max_examples=40)
@given(histories, repetitions, st.sampled_from([2.0**-20, 0.5, 8.0, 2.0**30]))
def test_the_unit_of_a_time_does_not_matter(values: list[float], again: dict[int, list[float]], factor: float) -> None:
    one = series(values, again)
    there = scaled(one, factor)
    assert told(judge(one)) == told(judge(there))
    assert suspects(one) == suspects(there)


@settings(max_examples=40)
@given(histories, repetitions, kinds, st.booleans())
def test_more_is_worse_mirrors_less_is_worse(
    values: list[float], again: dict[int, list[float]], kind: Kind, exact: bool
) -> None:
    one = series(values, again, kind=kind, exact=exact)
    mirrored = scaled(series(values, again, kind=kind, exact=exact, higher_is_better=True), -1.0)
    found, there = judge(one), judge(mirrored)
    assert told(found) == told(there)
    assert (found.low, found.high) == (-there.high, -there.low) or math.isnan(found.low)


@given(st.lists(anything, min_size=1, max_size=30), st.lists(anything, max_size=9), kinds, st.booleans())
def test_any_numbers_are_judged(values: list[float], again: list[float], kind: Kind, exact: bool) -> None:
    one = series(values, {len(values) - 1: again}, kind=kind, exact=exact)
    found = judge(one)
    assert found.reason or found.status == "fine"
    assert len(changes(one)) < len(values)


@given(st.floats(1e-300, 1e300), st.integers(2, 40), kinds, st.booleans())
def test_a_constant_is_never_suspected(value: float, nights: int, kind: Kind, exact: bool) -> None:
    one = series([value] * nights, kind=kind, exact=exact)
    assert not suspects(one)
    assert judge(one).status in ("fine", "too short")


@given(st.integers(5, 30), st.floats(0.1, 10), kinds, st.data())
def test_one_night_off_in_a_constant_history_is_forgotten(
    nights: int, off: float, kind: Kind, data: st.DataObject
) -> None:
    night = data.draw(st.integers(3, nights - 1))
    values = [1.0] * nights
    values[night] = off
    one = series([*values, 1.0], {night: [1.0] * REMEASUREMENTS}, kind=kind)
    assert judge(one).status == "fine"


@given(histories, st.permutations(range(REMEASUREMENTS)), every_repetition)
def test_a_regression_by_all_repetitions_needs_no_order(
    values: list[float], order: list[int], again: list[float]
) -> None:
    slow = [2 * value for value in again]
    one = series([*values[:20], *[100.0] * 9, 200.0], {len(values[:20]) + 9: slow})
    other = series([*values[:20], *[100.0] * 9, 200.0], {len(values[:20]) + 9: [slow[n] for n in order]})
    assert judge(one).status == judge(other).status == "regression"


@given(st.lists(times, min_size=4, max_size=20))
def test_the_band_does_not_know_the_order_of_its_nights(values: list[float]) -> None:
    assert band_of(values, POLICIES["time"]) == band_of(sorted(values), POLICIES["time"])


@given(histories, repetitions)
def test_asking_for_repetitions_comes_to_an_end(values: list[float], again: dict[int, list[float]]) -> None:
    again = {**again, len(values) - 1: [values[0]] * REMEASUREMENTS}
    assert not suspects(series(values, again))


@settings(max_examples=25)
@given(histories, repetitions)
def test_a_regression_is_new_once(values: list[float], again: dict[int, list[float]]) -> None:
    """A known regression follows a night with a regression."""
    found = [judge(series(values[:n], again)) for n in range(1, len(values) + 1)]
    for before, after in pairwise(found):
        assert not after.known or before.status == "regression"
        assert after.status != "withdrawn" or after.known


@given(st.lists(st.one_of(times, st.just(math.inf)), min_size=1, max_size=9))
def test_the_median_has_as_many_below_as_above(values: list[float]) -> None:
    middle = median(values)
    below, above = sum(v < middle for v in values), sum(v > middle for v in values)
    assert max(below, above) <= len(values) / 2


@settings(max_examples=30)
@given(st.integers(4, 60), st.floats(1.3, 5))
def test_a_step_without_noise_is_dated_to_the_night(start: int, factor: float) -> None:
    one = series([*[1.0] * start, *[factor] * 8], {start: [factor] * REMEASUREMENTS})
    for nights in range(start + 1, start + 9):
        found = judge(replace(one, points=one.points[:nights]))
        assert (found.status, found.before, found.after) == ("regression", f"r{start - 1}", f"r{start}")
    assert found.change == pytest.approx(factor - 1)
