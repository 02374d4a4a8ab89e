"""What a cell measures, for real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.cell import NightlyCell
from normbench_cli.nightly.cell_process import CellFailed, OutOfTime, measure_in_process
from normbench_cli.nightly.cells import measure, measure_cell
from normbench_cli.store import Store
from tests.killing import recorded_runs

TRAIN = {"device": "cpu", "data": "digits:size=8", "model": "mlp:width=8", "iterations": 2, "seed": 0}


def train_cell(**settings: Any) -> NightlyCell:
    return NightlyCell("mlp", "train", TRAIN | settings)


def no_beat() -> None:
    """No heartbeat."""


def test_a_training_is_recorded_as_a_run_and_gives_the_same_digits_every_time(store: Store, home: Path) -> None:
    cell = train_cell(norm="augnorm")
    first, second = (measure(cell, store) for _ in range(2))
    exact = {"saved_activation_bytes", "solver/iterations_mean", "solver/unconverged", "train/loss", "test/accuracy"}
    assert set(first.values) == exact | {"peak_memory_bytes", "time_vs_calibration"}
    assert {name: first.values[name] for name in exact} == {name: second.values[name] for name in exact}
    assert first.values["time_vs_calibration"] > 0
    runs = recorded_runs(home)
    assert {run.id for run in runs} == {first.run_id, second.run_id}
    assert {(run.status, run.tag, run.kind) for run in runs} == {("finished", "nightly", "train")}


def test_another_seed_gives_other_digits(store: Store) -> None:
    assert (
        measure_cell(train_cell(seed=0), store)["train/loss"] != measure_cell(train_cell(seed=1), store)["train/loss"]
    )


def test_a_cross_validation_of_graphs_has_no_step_time(store: Store) -> None:
    settings = {"data": "toy_graphs", "model": "gcn", "epochs": 1, "folds": 2, "seed": 0, "device": "cpu"}
    values = measure_cell(NightlyCell("graphs", "train", settings), store)
    assert {"train/loss", "validation/accuracy", "peak_memory_bytes"} <= set(values)
    assert "time_vs_calibration" not in values


def test_a_layer_is_timed_against_batchnorm_and_batchnorm_against_the_calibration(store: Store, home: Path) -> None:
    shapes = ((16, 8), (4, 8, 4, 4))
    popnorm, batchnorm = (
        NightlyCell("layer", "profile", {"norm": norm, "device": "cpu"}, shapes, rounds=5)
        for norm in ("popnorm", "batchnorm")
    )
    values = measure_cell(popnorm, store)
    assert set(values) == {
        f"{name}@{shape}" for name in ("time_vs_batchnorm", "saved_activation_bytes") for shape in ("16x8", "4x8x4x4")
    }
    assert all(value > 0 for value in values.values())
    measured = measure(batchnorm, store)
    assert {"time_vs_calibration@16x8", "saved_activation_bytes@16x8"} <= set(measured.values)
    assert not any(name.startswith("time_vs_batchnorm") for name in measured.values)
    (own,) = (run for run in recorded_runs(home) if run.id == measured.run_id)
    assert (own.norm, own.kind, own.tag) == ("batchnorm", "profile", "nightly")


def test_a_norm_that_fails_everywhere_fails_its_cell_and_elsewhere_gives_what_it_has(store: Store) -> None:
    """graphnorm takes nodes with features, not images."""
    cell = NightlyCell("layer", "profile", {"norm": "graphnorm", "device": "cpu"}, ((4, 8, 4, 4),), rounds=5)
    with pytest.raises(NormbenchError, match="graphnorm could not be measured: "):
        measure_cell(cell, store)
    values = measure_cell(replace(cell, shapes=((4, 8, 4, 4), (16, 8))), store)
    assert set(values) == {"time_vs_batchnorm@16x8", "saved_activation_bytes@16x8"}


def test_a_training_step_of_a_model_is_timed(store: Store) -> None:
    cell = NightlyCell("step", "profile", TRAIN | {"norm": "popnorm"}, rounds=5)
    assert set(measure_cell(cell, store)) == {"time_vs_batchnorm@mlp:width=8", "saved_activation_bytes@mlp:width=8"}


def test_a_package_that_is_not_allowed_is_not_loaded(store: Store) -> None:
    with pytest.raises(NormbenchError, match=r"mine\.toml asks for the norm 'somewhere:Norm'"):
        measure(train_cell(norm="somewhere:Norm"), store, "mine.toml")


@pytest.mark.slow
def test_a_process_of_its_own_measures_the_same_to_the_last_digit(store: Store, home: Path) -> None:
    cell = train_cell(norm="augnorm")
    done = measure_in_process(cell, None, "a test", 600.0, no_beat)
    here = measure(cell, store)
    assert done.values["train/loss"] == here.values["train/loss"]
    assert done.seconds > 0
    assert done.run_id in {run.id for run in recorded_runs(home)}


@pytest.mark.slow
def test_a_process_that_hangs_is_stopped_and_its_run_is_interrupted(home: Path) -> None:
    with pytest.raises(OutOfTime, match="it was stopped after 60 s"):
        measure_in_process(train_cell(iterations=100_000_000), None, "a test", 60.0, no_beat)
    assert {run.status for run in recorded_runs(home)} == {"interrupted"}


@pytest.mark.slow
def test_the_reason_of_a_failure_is_one_line() -> None:
    with pytest.raises(CellFailed, match="batch_size is 1") as failed:
        measure_in_process(train_cell(batch_size=1), None, "a test", 600.0, no_beat)
    assert "\n" not in str(failed.value)
