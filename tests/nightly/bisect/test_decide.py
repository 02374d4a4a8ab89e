"""Decisions by repeated measurements: the closed form is the bootstrap's, and a clear difference needs few rounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly.bisect.decide import (
    DIFFERENT,
    NEARER,
    ONCE,
    at_least_half,
    certain_side,
    decide,
    median_interval,
)

NUMBERS = st.lists(st.floats(-10, 10), min_size=1, max_size=40)


@pytest.mark.parametrize(("n", "below"), [(5, 1), (9, 2), (15, 5), (31, 12)])
def test_the_closed_form_is_what_resampling_gives(n: int, below: int) -> None:
    rounds = np.array([-1.0] * below + [1.0] * (n - below))
    resampled = np.median(np.random.default_rng(0).choice(rounds, (40_000, n)), axis=1)
    assert (resampled < 0).mean() == pytest.approx(at_least_half(n, below), abs=0.01)


@given(NUMBERS)
def test_the_mirrored_rounds_are_decided_the_other_way(rounds: list[float]) -> None:
    assert certain_side([-value for value in rounds], 0.98) == -certain_side(rounds, 0.98)


@given(NUMBERS)
def test_the_interval_encloses_the_median_and_agrees_with_the_decision(rounds: list[float]) -> None:
    median, low, high = median_interval(rounds, 0.98)
    assert low <= median <= high
    side = certain_side(rounds, 0.98)
    assert side != 1 or low > 0
    assert side != -1 or high < 0


def test_a_clear_difference_is_decided_at_the_first_look() -> None:
    for rule in (ONCE, NEARER, DIFFERENT):
        side, rounds = decide(lambda: -1.0, rule)
        assert (side, len(rounds)) == (-1, rule.least)


def test_values_that_alternate_stay_undecided_to_the_last_round() -> None:
    values = iter([1.0, -1.0] * 20)
    assert decide(lambda: next(values), NEARER) == (0, [1.0, -1.0] * 20)


def test_zero_is_on_neither_side() -> None:
    assert decide(lambda: 0.0, ONCE)[0] == 0
