"""What a question comes to on made-up values with a planted truth: found, and undecided where there is too little."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

import numpy as np
import pytest

from normbench_cli.reporting.reproduction.answers import EVERYWHERE, Answer, answer, answers_of, sentence
from normbench_cli.reporting.reproduction.scores import Part, Scores, Units, of_columns, of_ranges, widths
from normbench_cli.suites import Cell, Suite
from normbench_cli.suites.question import Best, Question

DRAWS = np.random.default_rng(0).normal(size=(40, 4))


def part(means: Mapping[str, float], n: int, folds: int = 0, spread: float = 0.5) -> Part:
    """Rows with these means in per cent; units are seeds, or the folds of seed 0."""
    rows: dict[Hashable, Units] = {
        row: {(0, unit) if folds else unit: mean + spread * float(DRAWS[unit, number]) for unit in range(n)}
        for number, (row, mean) in enumerate(means.items())
    }
    return Part(rows, folds, "%")


@pytest.mark.parametrize("folds", [0, 10])
def test_the_best_is_found_with_its_ties_and_the_worse_ones(folds: int) -> None:
    found = answer("here", part({"a": 80, "b": 90, "c": 90.1, "d": 70}, 10, folds))
    assert {found.best, *found.ties} == {"b", "c"}
    assert found.worse == ("a", "d")
    assert (found.n, found.of, found.comparisons) == (10, "folds" if folds else "seeds", 6)
    assert found.is_decidable
    said = sentence(found, "90.1 ± 0.5")
    assert said.startswith(
        f"{found.best} has the best mean, 90.1 ± 0.5; not distinguishable from it: {found.ties[0]}; "
    )
    assert "significantly worse: a, d (n=10" in said


def test_a_single_best_and_no_difference_at_all_are_said() -> None:
    alone, none = answer("", part({"a": 80, "b": 90}, 8)), answer("", part({"a": 90, "b": 90}, 8, spread=5))
    assert sentence(alone, "90").startswith("b is best, 90: all others are significantly worse (n=8 seeds")
    assert sentence(none, "90").startswith("Undecided: ")
    assert "none is significantly worse" in sentence(none, "90")


@pytest.mark.parametrize(("n", "folds", "needed"), [(9, 0, 8), (7, 0, 8), (1, 0, 8), (5, 10, 6), (6, 10, 6)])
def test_too_few_pairs_tell_nothing_however_large_the_difference(n: int, folds: int, needed: int) -> None:
    found = answer("", part({"a": 0, "b": 90, "c": 10, "d": 20}, n, folds))
    assert found.needed == needed
    assert found.is_decidable is (n >= needed)
    assert bool(found.worse) is (n >= needed)
    assert sentence(found, "90").startswith("Undecided") is (n < needed)


def test_a_diverged_run_has_no_pair_and_nothing_measured_has_no_best() -> None:
    rows: dict[Hashable, Units] = {"a": {0: 1.0, 1: math.nan, 2: 1.1}, "b": {0: 2.0, 1: 2.1, 2: 2.2}, "never run": {}}
    found = answer("", Part(rows, 0, "%"))
    assert (found.best, found.n, found.ties) == ("b", 3, ("a",))
    assert answer("", Part({"a": {}}, 0, "%")) == Answer("")
    assert sentence(Answer(""), "-") == "Undecided: nothing is measured yet."


def test_less_is_better_of_a_loss() -> None:
    lower = part({"a": 80, "b": 90}, 8)
    assert answer("", Part(lower.rows, 0, "", higher=False)).best == "a"


def suite_of(cells: list[Cell], best: Best = "score") -> Suite:
    return Suite("mine", "mine", "", "", cells, question=Question("Which?", "all", best))


def scores(row: str, column: str, values: list[float], at: float | None = None, folds: int = 0) -> Scores:
    cell = Cell(row, column, {}, "test/accuracy", unit="%", at=at)
    units: dict[Hashable, float] = {
        (number // folds, number % folds) if folds else number: value for number, value in enumerate(values)
    }
    return Scores(cell, units, folds)


def test_over_all_columns_a_seed_counts_once_and_needs_all_of_them() -> None:
    """Of the cross-validation, a seed is the mean of its folds."""
    given = [
        scores("a", "images", [0.5, 0.6, 0.7]),
        scores("b", "images", [0.1, 0.2, 0.3]),
        scores("a", "graphs", [0.4, 0.6, 0.2, 0.4], folds=2),
        scores("b", "graphs", [0.8, 0.8, 0.9, 0.9], folds=2),
    ]
    images, graphs, overall = answers_of(suite_of([one.cell for one in given]), given)
    assert [images.where, graphs.where, overall.where] == ["images", "graphs", EVERYWHERE]
    assert (images.best, graphs.best, graphs.of, overall.of) == ("a", "b", "folds", "seeds")
    assert overall.n == 2  # the third seed has no graphs
    assert overall.summary is not None
    assert overall.summary.mean == pytest.approx(100 * (0.1 + 0.8 + 0.2 + 0.9) / 4)
    assert of_columns(given)["graphs"].by_seed()["a"] == pytest.approx({0: 50, 1: 30})


def test_a_range_is_as_wide_as_the_places_within_a_point_of_the_best() -> None:
    places = [0.01, 0.1, 1.0, 10.0]
    robust = [scores("a", f"lr {at}", [value], at) for at, value in zip(places, [0.5, 0.895, 0.9, 0.892], strict=True)]
    narrow = [
        scores("b", f"lr {at}", [value], at) for at, value in zip(places, [0.5, 0.95, 0.9, math.nan], strict=True)
    ]
    assert widths(robust)[0] == pytest.approx(2)
    assert widths(narrow)[0] == 0
    found = of_ranges([*robust, *narrow])["range"]
    assert found.unit == "decades"
    (told,) = answers_of(suite_of([], "range"), [*robust, *narrow])
    assert told.best == "a"
    missing = scores("b", "lr 10", [], 10.0)
    assert widths([*narrow[:3], missing]) == {}


def test_a_row_that_always_diverges_does_not_keep_the_others_from_being_told() -> None:
    rows: dict[Hashable, Units] = dict(part({"a": 80, "b": 90}, 8).rows)
    found = answer("", Part(rows | {"c": dict.fromkeys(range(8), math.nan)}, 0, "%"))
    assert (found.best, found.worse, found.comparisons) == ("b", ("a",), 1)
    few = answer("", Part(rows | {"c": {0: 10.0, 1: 10.1}}, 0, "%"))
    assert (few.ties, few.worse) == (("c",), ("a",))
