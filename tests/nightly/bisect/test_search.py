"""The search finds the first bad commit of any history, in about log2(n) steps."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly.bisect.search import Found, Level, ancestor_sets, first_bad, members

Parents = dict[str, list[str]]


def line(n: int) -> Parents:
    return {str(i): [str(i - 1)] for i in range(n)}  # the parent of "0" is the good end, "-1"


@st.composite
def histories(draw: st.DrawFn) -> Parents:
    """Any history with branches and merges whose last commit contains all others."""
    n = draw(st.integers(1, 25))
    parents: Parents = {}
    for i in range(n):
        some = draw(st.lists(st.integers(-1, i - 1), min_size=1, max_size=2, unique=True))
        parents[str(i)] = [str(parent) for parent in some]
    heads = set(parents) - {parent for before in parents.values() for parent in before}
    parents["end"] = sorted(heads)
    return parents


def search(parents: Parents, first: str, unmeasurable: set[str] = frozenset()) -> Found:  # type: ignore[assignment]
    commits, contains = list(parents), ancestor_sets(parents)

    def judge(commit: str) -> Level:
        assert commit != commits[-1], "the bad end is known"
        if commit in unmeasurable:
            return "skip"
        return "bad" if commits.index(first) in members(contains[commits.index(commit)]) else "good"

    return first_bad(parents, judge)


@given(st.data(), histories())
def test_any_planted_commit_of_any_history_is_found(data: st.DataObject, parents: Parents) -> None:
    planted = data.draw(st.sampled_from(list(parents)))
    assert search(parents, planted).first == (planted,)


@given(st.data(), histories())
def test_the_first_bad_commit_is_among_those_left_when_some_cannot_be_judged(
    data: st.DataObject, parents: Parents
) -> None:
    planted = data.draw(st.sampled_from(list(parents)))
    unmeasurable = data.draw(st.sets(st.sampled_from(list(parents))))
    found = search(parents, planted, unmeasurable)
    assert planted in found.first
    assert set(found.first[:-1]) <= unmeasurable
    assert len(set(found.levels)) == len(found.levels)


@given(st.integers(1, 2000), st.data())
def test_a_linear_history_takes_log2_steps(n: int, data: st.DataObject) -> None:
    planted = str(data.draw(st.integers(0, n - 1)))
    found = search(line(n), planted)
    assert found.first == (planted,)
    assert len(found.levels) <= ceil(log2(n))


@pytest.mark.parametrize("planted", ["0", "10", "40", "99"])
def test_a_long_stretch_that_cannot_be_measured_costs_few_attempts(planted: str) -> None:
    """It is left by growing steps, not commit by commit."""
    broken = {str(i) for i in range(45, 56)}
    found = search(line(100), planted, broken)
    assert found.first == (planted,)
    assert len(found.levels) <= 7 + 4


def test_a_side_branch_is_left_out_when_the_merge_is_bad_and_its_base_too() -> None:
    parents = {"base": ["good"], "a": ["base"], "b": ["base"], "merge": ["a", "b"], "end": ["merge"]}
    assert search(parents, "b").first == ("b",)
    assert search(parents, "merge").first == ("merge",)
