"""Statistics over folds against numbers by hand, and which recorded folds count as finished."""

from __future__ import annotations

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
