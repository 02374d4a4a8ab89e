"""Final runs as they are read: one value for each seed, also where a seed has a run for each fold."""

from __future__ import annotations

import math

import pytest

from normbench_cli.reporting.tuning.finals import finals_of

SCORES = {"a": 0.5, "b": 1.0, "c": 0.75}


def run(seed: int, run: str, status: str = "finished") -> dict[str, object]:
    return {"seed": seed, "run": run, "status": status}


def test_a_run_is_a_value() -> None:
    first, second = finals_of([run(0, "a"), run(1, "b")], 1, SCORES)
    assert (first.seed, first.value, second.value, second.run) == (0, 0.5, 1.0, "b")


def test_the_runs_of_the_folds_have_one_mean_a_seed() -> None:
    (whole, part) = finals_of([run(3, "a"), run(3, "b"), run(4, "c")], 2, SCORES)
    assert (whole.seed, whole.value, whole.status, whole.runs) == (3, 0.75, "finished", ("a", "b"))
    assert math.isnan(part.value)  # a fold is still to come


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_a_seed_of_which_a_fold_has_no_result_has_none(status: str) -> None:
    (final,) = finals_of([run(0, "a"), run(0, "", status)], 2, SCORES)
    assert (final.status, math.isnan(final.value)) == (status, True)
