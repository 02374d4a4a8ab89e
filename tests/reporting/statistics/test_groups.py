"""All groups of a table against a baseline."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
import pandas as pd
import pytest

from normbench_cli.reporting.statistics import compare_groups, compare_paired, holm


def long(values: dict[Hashable, list[float]]) -> pd.DataFrame:
    """The i-th value of each group has seed i."""
    rows = [(group, seed, value) for group, several in values.items() for seed, value in enumerate(several)]
    return pd.DataFrame(rows, columns=["group", "seed", "value"])


@pytest.fixture(autouse=True)
def without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """statsmodels collects garbage whenever it corrects p-values, a twentieth of a second each."""
    monkeypatch.setattr("gc.collect", lambda: 0)


@pytest.fixture
def groups() -> dict[Hashable, list[float]]:
    """Ten seeds with an effect of their own; b is better than a, c is not."""
    random = np.random.default_rng(1)
    common, noise = random.normal(size=10), random.normal(0, 0.1, size=(3, 10))
    return {name: list(common + shift + one) for name, shift, one in zip("abc", (0, 1, 0), noise, strict=True)}


def test_each_row_is_the_comparison_with_the_baseline(groups: dict[Hashable, list[float]]) -> None:
    table = compare_groups(long(groups), "a").table
    assert list(table.index) == ["b", "c"]
    for name in "bc":
        alone = compare_paired(groups[name], groups["a"], comparisons=2)
        assert {key: table.loc[name, key] for key in vars(alone)} == vars(alone)
    for p in ("p_t", "p_permutation"):
        assert table[f"{p}_holm"].tolist() == holm(table[p].tolist())
    assert table["significant"].tolist() == [True, False]


def test_runs_are_paired_by_seed_whatever_their_order(groups: dict[Hashable, list[float]]) -> None:
    shuffled = long(groups).sample(frac=1, random_state=0)
    expected = compare_groups(long(groups), "a").table
    pd.testing.assert_frame_equal(compare_groups(shuffled, "a").table.loc[expected.index], expected)


def test_ties_are_those_not_worse_than_the_best(groups: dict[Hashable, list[float]]) -> None:
    found = compare_groups(long(groups))
    assert (found.best, found.ties, len(found.table)) == ("b", ("b",), 0)
    turned = compare_groups(long(groups), higher_is_better=False)
    assert turned.best in ("a", "c")
    assert turned.ties == ("a", "c")


def test_three_seeds_decide_nothing_and_say_so(groups: dict[Hashable, list[float]]) -> None:
    found = compare_groups(long({name: values[:3] for name, values in groups.items()}), "a")
    assert not found.table["significant"].any()
    assert found.ties == ("a", "b", "c")
    assert "with n=3 the permutation test cannot go below p=0.25" in found.limits[0]


def test_diverged_runs_are_counted_and_never_averaged(groups: dict[Hashable, list[float]]) -> None:
    whole = compare_groups(long({name: values[1:] for name, values in groups.items()}), "a").table
    groups["b"][0] = math.nan
    found = compare_groups(long(groups), "a")
    assert found.table["diverged"].tolist() == [1, 0]
    assert found.table.loc["b", "difference"] == whole.loc["b", "difference"]
    assert "1 pair with a diverged run left out: the comparison is of the others" in found.limits


def test_seeds_of_one_side_are_left_out_and_counted(groups: dict[Hashable, list[float]]) -> None:
    groups["c"] = groups["c"][:7]
    row = compare_groups(long(groups), "a").table.loc["c"]
    assert (row["n"], row["unpaired"], row["diverged"]) == (7, 3, 0)
    assert "3 seeds measured on one side only, left out" in row["limits"]


def test_a_group_without_a_common_seed_has_a_row_and_no_numbers(groups: dict[Hashable, list[float]]) -> None:
    groups["c"] = [math.nan] * 10
    found = compare_groups(long(groups), "a")
    assert found.table.loc["c", "n"] == 0
    assert found.table.loc["c", ["difference", "p_permutation_holm"]].isna().all()
    assert "no seed has a value on both sides" in found.table.loc["c", "limits"]
    assert found.table.loc["b", "p_permutation_holm"] == found.table.loc["b", "p_permutation"], "it is not counted"
    assert "c" not in found.ties


def test_several_values_of_a_seed_count_once(groups: dict[Hashable, list[float]]) -> None:
    frame = long(groups)
    twice = pd.concat([frame.assign(value=frame["value"] + shift) for shift in (-1, 1)])
    expected = compare_groups(long(groups), "a").table["difference"].tolist()
    assert compare_groups(twice, "a").table["difference"].tolist() == pytest.approx(expected)


def test_groups_and_seeds_may_be_tuples() -> None:
    frame = long({("bn", "relu"): [1.0, 2.0], ("pn", "relu"): [2.0, 3.5]})
    frame["seed"] = [(seed, "digits") for seed in frame["seed"]]
    found = compare_groups(frame, ("bn", "relu"))
    assert found.table["difference"].tolist() == [1.25]
    assert found.best == ("pn", "relu")


def test_nothing_measured_has_no_best() -> None:
    found = compare_groups(long({"a": [math.nan], "b": [math.nan]}), "a")
    assert (found.best, found.ties) == (None, ())
    assert compare_groups(long({}), "a").table.empty
