"""What a person reads about a night."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from normbench_cli.nightly.gate import changes, judge, suspects
from normbench_cli.nightly.series import Kind, Series
from tests.nightly.gate.series_of import calm, day, judged, repeated, series

SLOW = 120.0


def test_the_first_night_is_a_baseline_and_the_next_two_are_too_few() -> None:
    assert [judged(calm(nights)).status for nights in (1, 2, 3, 4)] == [
        "new baseline",
        "too short",
        "too short",
        "fine",
    ]


def test_a_series_without_points_has_nothing_to_judge() -> None:
    assert not suspects(series([]))
    with pytest.raises(ValueError, match="no last night"):
        judge(series([]))


def test_a_slow_night_is_suspected_until_it_is_measured_again() -> None:
    one = series([*calm(10), SLOW])
    assert suspects(one)
    assert judge(one).status == "suspected"


def test_a_confirmed_slow_night_is_a_regression_with_its_date_and_revisions() -> None:
    one = series([*calm(10), SLOW], {10: repeated(SLOW)})
    found = judge(one)
    assert not suspects(one)
    assert (found.status, found.since, found.before, found.after) == ("regression", day(10), "r9", "r10")
    assert not found.known
    assert found.low < found.expected < found.high < found.value
    assert found.change == pytest.approx(0.2, abs=0.01)


def test_a_refuted_slow_night_is_fine_and_says_why() -> None:
    found = judged([*calm(10), SLOW], {10: (100.0, 101.0)})
    assert found.status == "suspected"
    found = judged([*calm(10), SLOW], {10: (100.0, 101.0, 99.0)})
    assert found.status == "fine"
    assert "3 times" in found.reason


def test_a_regression_stays_reported_as_a_known_one_however_long_it_lasts() -> None:
    values = [*calm(10), *calm(60, 1.2)]
    for nights in (12, 30, 70):
        found = judged(values[:nights], {10: repeated(SLOW)})
        assert (found.status, found.known, found.since) == ("regression", True, day(10))
        assert found.expected == pytest.approx(100, abs=1)
        assert "accepted" in found.reason


def test_a_regression_that_is_gone_is_an_improvement_once() -> None:
    values = [*calm(10), *calm(5, 1.2), *calm(5)]
    again = {10: repeated(SLOW), 15: repeated(100.0)}
    assert judged(values[:16], again).status == "improvement"
    assert "back to normal" in judged(values[:16], again).reason
    assert judged(values[:17], again).status == "fine"


DOUBTFUL = (103.0, 110.0, 107.0, 112.0, 102.0, 106.0, 109.0, 104.0, 111.0)  # enough for a regression on trial


def test_a_regression_on_trial_is_measured_again_and_withdrawn_if_that_refutes_it() -> None:
    values = [*calm(12), 107.0, 101.0, 100.0]
    again = {12: DOUBTFUL}
    assert judged(values[:13], again).status == "regression"
    assert suspects(series(values[:14], again))
    found = judged(values[:14], again | {13: calm(9)})
    assert (found.status, found.since, found.known) == ("withdrawn", day(12), True)
    assert f"not confirmed on {day(13)}" in found.reason
    assert judged(values, again | {13: calm(9)}).status == "fine"
    assert changes(series(values, again | {13: calm(9)})) == []


def test_a_regression_on_trial_that_later_nights_confirm_stays() -> None:
    values = [*calm(12), 107.0, *calm(5, 1.07)]
    again = {12: DOUBTFUL, **{night: calm(9, 1.07) for night in (13, 14)}}
    for nights in (14, 15, 18):
        assert (judged(values[:nights], again).status, judged(values[:nights], again).known) == ("regression", True)
    assert not suspects(series(values[:16], again))


def test_the_band_is_shown_where_the_night_would_have_it() -> None:
    one = series(calm(10))
    warm = replace(one, points=(*one.points[:-1], replace(one.points[-1], value=103.0, day_effect=1.03)))
    found = judge(warm)
    assert (found.status, found.value) == ("fine", 103.0)
    assert found.expected == pytest.approx(103, abs=1)
    assert judge(series([*calm(9), 103.0])).expected == pytest.approx(100, abs=1)


def test_an_improvement_is_the_new_level_so_that_losing_it_is_a_regression() -> None:
    values = [*calm(10), *calm(5, 0.8), 100.0]
    again = {10: repeated(80.0), 15: repeated(100.0)}
    assert judged(values[:11], again).status == "improvement"
    assert judged(values[:12], again).status == "fine"
    assert judged(values, again).status == "regression"


def test_a_known_regression_that_grows_is_a_new_one() -> None:
    values = [*calm(10), *calm(5, 1.2), 150.0]
    found = judged(values, {10: repeated(SLOW), 15: repeated(150.0)})
    assert (found.status, found.known, found.since) == ("regression", False, day(15))


def test_a_drift_that_the_band_follows_is_told_at_last() -> None:
    statuses = {judged([100 * 1.002**n for n in range(nights)]).status for nights in range(20, 100)}
    assert "regression" in statuses
    assert "drifted" in judged([100 * 1.002**n for n in range(99)]).reason


def test_slow_nights_in_a_row_are_a_regression_even_if_none_was_measured_again() -> None:
    assert [judged([*calm(10), *[SLOW] * nights]).status for nights in (4, 5)] == ["suspected", "regression"]
    assert judged([*calm(10), *[SLOW] * 5]).since == day(10)


def test_half_of_the_evidence_on_two_nights_is_a_regression() -> None:
    part = (106.0, 105.0, 107.0) * 5
    values = [*calm(10), 106.0, 106.0]
    assert judged(values[:11], {10: part}).status == "suspected"
    assert judged(values, {10: part, 11: part}).status == "regression"


def test_repetitions_that_agree_better_than_nights_do_prove_less() -> None:
    noisy = [100.0, 106.0, 94.0, 103.0, 97.0] * 4
    assert judged([*noisy, 111.0], {20: repeated(111.0)}).status == "suspected"
    spread = (108.0, 114.0, 106.0, 116.0, 111.0, 109.0, 113.0, 121.0, 112.0)
    assert judged([*noisy, 111.0], {20: tuple(v + 10 for v in spread)}).status == "regression"


def test_a_missing_night_changes_nothing() -> None:
    one = series([*calm(10), SLOW], {10: repeated(SLOW)})
    gap = replace(one, points=one.points[:5] + one.points[6:])
    assert judge(gap).status == "regression"
    assert judge(gap).since == day(10)


def test_a_diverged_training_is_a_regression_when_it_diverges_again() -> None:
    values = [*[0.9] * 10, math.nan]
    kind: Kind = "accuracy"
    for exact in (True, False):
        one = series(values, kind=kind, higher_is_better=True, exact=exact)
        assert suspects(one)
        assert judge(one).status == "suspected"
        found = judged(values, {10: repeated(math.nan)}, kind=kind, higher_is_better=True, exact=exact)
        assert found.status == "regression"
        assert math.isnan(found.change)


def test_what_never_was_a_number_is_fine_and_becoming_one_is_an_improvement() -> None:
    for exact in (True, False):
        assert judged([math.nan] * 10, exact=exact).status == "fine"
        assert judged([*[math.nan] * 10, 1.0], {10: repeated(1.0)}, exact=exact).status == "improvement"


def test_a_loss_of_accuracy_is_seen_in_its_own_direction() -> None:
    values = [*[0.90, 0.905, 0.895, 0.9] * 5, 0.85]
    found = judged(values, {20: repeated(0.85)}, kind="accuracy", higher_is_better=True)
    assert found.status == "regression"
    assert found.value < found.low < found.expected < found.high


def test_all_confirmed_changes_are_listed() -> None:
    values = [*calm(10), *calm(5, 1.2), *calm(5)]
    again = {10: repeated(SLOW), 15: repeated(100.0)}
    assert [(one.day, one.worse) for one in changes(series(values, again))] == [(day(10), True), (day(15), False)]


def test_a_suite_may_ask_for_a_larger_effect() -> None:
    one = series([*calm(10), SLOW], {10: repeated(SLOW)})
    assert judge(one, {"time": 0.3}).status == "fine"
    assert not suspects(one, {"time": 0.3})


def test_a_year_of_history_is_judged_at_once_with_the_same_date() -> None:
    values = [*calm(100), *calm(265, 1.2)]
    one: Series = series(values, {100: repeated(SLOW)})
    assert judge(one).since == day(100)
