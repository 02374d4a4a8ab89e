"""The smallest changes that count."""

from __future__ import annotations

from dataclasses import replace

from normbench_cli.nightly.gate.policy import (
    CERTAIN,
    CERTAIN_DEVIATIONS,
    FIRST_REMEASUREMENTS,
    REMEASUREMENTS,
    SETTLED,
    TYPICAL_REPETITIONS,
    policy_for,
)
from tests.nightly.gate.series_of import measurement


def test_a_rough_time_needs_a_larger_change_whatever_a_suite_says() -> None:
    rough = replace(measurement("time"), rough=True)
    for own in (None, {"time": 0.01}):
        assert policy_for(rough, own).smallest(100.0) > 2 * policy_for(measurement("time")).smallest(100.0)  # type: ignore[arg-type]


def test_of_an_exact_measurement_any_difference_counts() -> None:
    for kind in ("time", "memory", "accuracy", "solver"):
        assert policy_for(measurement(kind, exact=True)).smallest(100.0) == 0.0
        assert policy_for(measurement(kind)).smallest(100.0) > 0.0


def test_a_suite_sets_a_share_and_for_accuracy_a_difference() -> None:
    own = {"time": 0.2, "accuracy": 0.2}
    assert policy_for(measurement("time"), own).smallest(100.0) == 20.0  # type: ignore[arg-type]
    assert policy_for(measurement("accuracy"), own).smallest(100.0) == 0.2  # type: ignore[arg-type]


def test_a_share_of_nothing_still_has_a_smallest_change() -> None:
    assert policy_for(measurement("solver")).smallest(0.0) > 0


def test_a_new_regression_is_on_trial_or_settled_but_never_over_at_once() -> None:
    assert CERTAIN < CERTAIN_DEVIATIONS**2 / 2 < SETTLED


def test_the_first_repetitions_are_fewer_than_enough() -> None:
    assert 2 <= FIRST_REMEASUREMENTS < TYPICAL_REPETITIONS <= REMEASUREMENTS
