"""Which values are tried: the same for every contender, evenly spread, and the same again when asked again."""

from __future__ import annotations

import math

import pytest

from normbench_cli.experiments.tuning.request import Sampler
from normbench_cli.experiments.tuning.sampling import Study
from normbench_cli.experiments.tuning.space import parse_space

SPACE = parse_space([])


def proposed(count: int, sampler: Sampler = "quasi-random", score: float = 0.0) -> list[dict[str, float]]:
    study, found = Study(SPACE, sampler, "none", 10), []
    for _ in range(count):
        proposal = study.ask()
        found.append(dict(proposal.values))
        study.tell(proposal, score * len(found), stopped=False)
    return found


def test_quasi_random_points_are_the_same_whatever_the_scores_and_a_longer_search_begins_with_them() -> None:
    first = proposed(8)
    assert first == proposed(8, score=0.01)
    assert first == proposed(40)[:8]


def test_quasi_random_points_cover_the_range_more_evenly_than_chance() -> None:
    decades = [math.floor(math.log10(values["lr"]) * 16 / 3) for values in proposed(16)]
    assert len(set(decades)) == 16  # each of sixteen equal parts of the range is tried once


def test_tpe_proposes_the_same_again_after_the_same_scores() -> None:
    assert proposed(14, "tpe", 0.01) == proposed(14, "tpe", 0.01)


@pytest.mark.parametrize("sampler", ["quasi-random", "tpe"])
def test_values_lie_in_their_ranges_and_have_four_digits(sampler: Sampler) -> None:
    for values in proposed(12, sampler, 0.01):
        for name, value in values.items():
            assert SPACE[name].low <= value <= SPACE[name].high
            assert value == float(f"{value:.4g}")


def test_a_trial_that_failed_costs_no_other() -> None:
    study = Study(SPACE, "tpe", "median", 10)
    study.tell(study.ask(), None, stopped=False)
    assert study.ask().number == 1
