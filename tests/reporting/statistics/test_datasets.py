"""Wins and losses over data sets; Friedman and Nemenyi against published tables and libraries."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from normbench_cli.reporting.statistics import friedman, nemenyi_critical_difference, sign_test

Q_05 = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164}  # Demsar 2006, table 5a


@pytest.fixture
def scores() -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(size=(12, 4))
    return pd.DataFrame(
        noise + np.array([0.0, 0.3, 1.5, 0.0]), columns=list("abcd"), index=[f"set{i}" for i in range(12)]
    )


def test_wins_losses_and_ties_are_counted() -> None:
    found = sign_test([3, 3, 3, 3, 1, 2, math.nan], [1, 1, 1, 1, 2, 2, 0])
    assert (found.wins, found.losses, found.ties) == (4, 1, 1)
    assert found.p == pytest.approx(2 * (1 + 5) / 2**5)
    turned = sign_test([3, 1], [1, 2], higher_is_better=False)
    assert (turned.wins, turned.losses) == (1, 1)


def test_without_a_winner_there_is_no_evidence() -> None:
    assert sign_test([1, 2], [1, 2]).p == 1
    assert sign_test([], []).p == 1


def test_friedman_is_scipys(scores: pd.DataFrame) -> None:
    found = friedman(scores)
    assert (found.statistic, found.p) == pytest.approx(tuple(stats.friedmanchisquare(*scores.to_numpy().T)))
    assert found.datasets == 12
    assert min(found.ranks, key=found.ranks.__getitem__) == "c"
    assert sum(found.ranks.values()) == pytest.approx(1 + 2 + 3 + 4)
    assert found.limits == ()


def test_lower_can_be_better(scores: pd.DataFrame) -> None:
    assert friedman(-scores, higher_is_better=False) == friedman(scores)


@pytest.mark.parametrize("groups", Q_05)
def test_the_critical_difference_is_that_of_the_published_table(groups: int) -> None:
    expected = Q_05[groups] * math.sqrt(groups * (groups + 1) / (6 * 14))
    assert nemenyi_critical_difference(groups, 14) == pytest.approx(expected, abs=2e-3)


def test_a_data_set_with_a_missing_value_is_left_out_and_named(scores: pd.DataFrame) -> None:
    scores.loc["set3", "a"] = math.nan
    found = friedman(scores)
    assert (found.datasets, found.left_out) == (11, ("set3",))
    without = friedman(scores.drop("set3"))
    assert found == replace(without, left_out=("set3",))


def test_few_data_sets_or_groups_have_limits(scores: pd.DataFrame) -> None:
    assert "5 data sets are few" in friedman(scores[:5]).limits[0]
    assert "three groups" in friedman(scores[["a", "b"]]).limits[0]
    assert math.isnan(friedman(scores[:1]).p)
    assert math.isnan(nemenyi_critical_difference(1, 5))


def test_equal_groups_are_equal() -> None:
    assert friedman(pd.DataFrame([[1, 1, 1]] * 3)).p == 1
