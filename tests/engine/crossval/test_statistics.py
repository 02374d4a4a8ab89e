"""Statistics over folds against numbers by hand, and which recorded folds count as finished."""

from __future__ import annotations

from statistics import pstdev, stdev

import pytest

from normbench_cli.engine.crossval.statistics import CURVES, finished_folds, layer_metrics, mean_curves, summary


def test_the_three_choices_of_the_epoch() -> None:
    folds = [
        {**{name: [0.0] * 3 for name in CURVES}, "validation/accuracy": values}
        for values in ([0.5, 0.9, 0.6], [0.7, 0.8, 1.0])
    ]
    found = summary(folds)
    assert found["validation/accuracy@curve_best"] == pytest.approx(0.85)
    assert found["validation/epoch@curve_best"] == 2
    assert found["validation/accuracy@best_per_fold"] == pytest.approx(0.95)
    assert found["validation/accuracy@last"] == pytest.approx(0.8)
    assert found["validation/accuracy_sd0@last"] == pytest.approx(0.2)
    assert found["validation/accuracy_sd1@last"] == pytest.approx(0.2 * 2**0.5)
    assert mean_curves(folds)[0]["validation/accuracy_sd0"] == pytest.approx(0.1)


def test_metrics_of_layers_are_means_and_extremes_over_folds() -> None:
    names = ("solver/iterations_mean", "solver/iterations_max", "phi/min")
    folds = [dict(zip(names, [[1.0], [5.0], [1.2]], strict=True)), dict(zip(names, [[2.0], [4.0], [1.1]], strict=True))]
    assert layer_metrics(folds) == {"phi/min": 1.1, "solver/iterations_max": 5.0, "solver/iterations_mean": 1.5}


def test_a_fold_whose_curves_are_not_complete_is_not_finished() -> None:
    recorded = {f"{name}@fold0": [0.0] * 4 for name in CURVES} | {f"{CURVES[0]}@fold1": [0.0] * 4, "other@fold2": [0.0]}
    assert list(finished_folds(recorded, 4)) == [0]
    assert finished_folds(recorded, 5) == {}


def test_recorded_metrics_of_a_finished_fold_are_taken_over() -> None:
    recorded = {f"{name}@fold0": [0.5] * 4 for name in CURVES}
    metrics = {"solver/residual@fold0": 0.1, "solver/residual@fold1": 0.2, "train/loss@fold0": 0.5}
    (fold,) = finished_folds(recorded, 4, metrics).values()
    assert fold["solver/residual"] == [0.1]
    assert fold["train/loss"] == [0.5] * 4


def constant(**values: list[float]) -> dict[str, list[float]]:
    return {**{name: [0.0] * 2 for name in CURVES}, **{name.replace("_", "/"): value for name, value in values.items()}}


def test_epochs_that_differ_by_rounding_are_equal_and_the_first_is_chosen() -> None:
    found = summary([constant(train_accuracy=[0.7, 0.7 + 1e-9]), constant(train_accuracy=[0.1, 0.1])])
    assert found["train/epoch@curve_best"] == 1
    assert summary([constant(train_accuracy=[0.7, 0.70001])] * 2)["train/epoch@curve_best"] == 2


def test_each_split_has_its_own_choice_of_epoch_and_standard_deviations() -> None:
    folds = [constant(train_accuracy=[value, 0.0], validation_accuracy=[0.0, value]) for value in (0.2, 0.4, 0.9)]
    found = summary(folds)
    assert (found["train/epoch@curve_best"], found["validation/epoch@curve_best"]) == (1, 2)
    assert found["train/accuracy_sd0@last"] == 0.0
    for name in ("train/accuracy{}@curve_best", "validation/accuracy{}@last", "validation/accuracy{}@best_per_fold"):
        assert found[name.format("_sd0")] == pytest.approx(pstdev([0.2, 0.4, 0.9]))
        assert found[name.format("_sd1")] == pytest.approx(stdev([0.2, 0.4, 0.9]))
    assert [means["train/accuracy_sd1"] for means in mean_curves(folds)] == pytest.approx([stdev([0.2, 0.4, 0.9]), 0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("solver/iterations_mean", 2.0),
        ("solver/iterations_max", 3.0),
        ("solver/unconverged", 2.0),
        ("solver/residual", 3.0),
        ("solver/error_bound", 3.0),
        ("phi/mean", 2.0),
        ("phi/min", 1.0),
        ("phi/max", 3.0),
    ],
)
def test_every_metric_of_layers_over_the_folds(name: str, expected: float) -> None:
    assert layer_metrics([{name: [9.0, value]} for value in (3.0, 1.0, 2.0)]) == {name: expected}


def test_a_metric_that_some_folds_lack_is_that_of_the_others() -> None:
    assert layer_metrics([constant(), {**constant(), "phi/mean": [1.5]}]) == {"phi/mean": 1.5}


def test_folds_with_two_digits_are_told_apart_and_in_order() -> None:
    recorded = {f"{name}@fold{fold}": [float(fold)] for name in CURVES for fold in (10, 1, 2)}
    finished = finished_folds(recorded, 1)
    assert list(finished) == [1, 2, 10]
    assert finished[10][CURVES[0]] == [10.0]
