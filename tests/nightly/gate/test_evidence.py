"""How much a night says."""

from __future__ import annotations

import math

from normbench_cli.nightly.gate.band import Band
from normbench_cli.nightly.gate.evidence import Night, deviations, is_certain, night_of, spread_of, support

BAND = Band(100.0, 4.0, 3.0, 0.5, 4.0)
WITHIN = (100.0, 103.0, 97.0, 101.5, 98.5, 104.0, 96.0, 102.0, 98.0)
AGREEING = tuple(100 + (value - 100) / 10 for value in WITHIN)


def night(estimate: float, variance: float = 1.0, *, repeated: bool = True) -> Night:
    return Night(0, estimate, estimate, variance, repeated)


def test_repetitions_make_a_night_more_certain() -> None:
    assert night_of(0, 100.0, WITHIN, 3.0, ()).variance < night_of(0, 100.0, (), 3.0, ()).variance / 3


def test_repetitions_that_agree_better_than_nights_do_help_less() -> None:
    assert night_of(0, 100.0, AGREEING, 3.0, ()).variance > 3 * night_of(0, 100.0, WITHIN, 3.0, ()).variance


def test_a_noisy_night_is_less_certain_and_weighs_less() -> None:
    calm, noisy = night_of(0, 100.0, (), 3.0, ()), night_of(0, 100.0, (), 3.0, (), noise=3.0)
    assert noisy.variance > calm.variance
    assert noisy.weight < calm.weight == 1


def test_few_or_infinite_repetitions_have_no_spread() -> None:
    assert spread_of((1.0, 2.0)) is None
    assert spread_of((1.0, 2.0, math.inf)) is None


def test_a_night_alone_needs_more_than_two_together() -> None:
    assert is_certain([night(106.0), night(106.0)], BAND, 1)
    assert not is_certain([night(106.0)], BAND, 1)
    assert not is_certain([night(94.0), night(94.0)], BAND, 1)
    assert is_certain([night(94.0), night(94.0)], BAND, -1)


def test_infinite_as_expected_is_no_deviation() -> None:
    assert deviations([night(math.inf)], Band(math.inf, 0.0, 0.0), 1) == (0.0, 0.0)


def test_a_night_supports_the_level_that_it_is_nearer_to() -> None:
    assert support(night(109.0), BAND, 110.0) > 0 > support(night(102.0), BAND, 110.0)
    assert support(night(300.0), BAND, 110.0) == support(night(110.0), BAND, 110.0)
    assert 0 < support(night(110.0, repeated=False), BAND, 110.0) < support(night(110.0), BAND, 110.0)
