"""Times that are not all known: Kaplan and Meier's steps and the test are those of statsmodels."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from normbench_cli.reporting.statistics import Time, compare_times, kaplan_meier, log_rank, median_time

TIMES = st.lists(st.builds(Time, st.integers(1, 9).map(float), st.booleans()), min_size=1, max_size=12)


@given(TIMES.filter(lambda times: any(time.reached for time in times)))
def test_the_steps_are_those_of_statsmodels(times: list[Time]) -> None:
    theirs = SurvfuncRight([time.at for time in times], [int(time.reached) for time in times])
    by_time = dict(zip(theirs.surv_times, 1 - theirs.surv_prob, strict=True))
    for at, share in kaplan_meier(times)[1:]:
        assert share == pytest.approx(by_time[at])


@given(TIMES)
def test_without_censoring_the_curve_is_the_share_that_has_reached_it(times: list[Time]) -> None:
    known = [Time(time.at, True) for time in times]
    for at, share in kaplan_meier(known):
        assert share == pytest.approx(sum(time.at <= at for time in known) / len(known))


def test_a_median_that_was_not_seen_is_infinite() -> None:
    assert median_time([Time(3, True), Time(5, False), Time(5, False)]) == math.inf
    assert median_time([Time(3, True), Time(4, True), Time(5, False)]) == 4


def test_pairs_are_compared_where_all_are_known_and_the_log_rank_test_decides_where_not() -> None:
    a: dict[Hashable, Time] = {seed: Time(10.0 + seed, True) for seed in range(6)}
    b: dict[Hashable, Time] = {seed: Time(20.0 + seed, True) for seed in range(6)}
    paired = compare_times(a, b)
    assert paired.test == "paired"
    assert paired.p == pytest.approx(2**-5)
    censored = compare_times(a, b | {0: Time(30.0, False)})
    assert censored.test == "log-rank"
    assert censored.p < 0.01


def test_the_log_rank_test_keeps_its_level() -> None:
    rng = np.random.default_rng(0)

    def group() -> list[Time]:
        return [Time(min(time, 1.5), time < 1.5) for time in rng.exponential(1.0, 20)]

    found = [log_rank([group(), group()]) for _ in range(200)]
    assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.1


def test_nothing_reached_is_no_test() -> None:
    assert math.isnan(log_rank([[Time(3, False)], [Time(3, False)]]))
