"""Trainings of a nightly suite by several processes."""

from __future__ import annotations

import pytest

from normbench_cli.config import make_config
from normbench_cli.errors import UsageError
from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.cells import measure
from normbench_cli.nightly.classes import environment_class
from normbench_cli.nightly.processes import with_processes
from normbench_cli.store import Store

BOTH = {"nproc": 2, "sync_norm": True}
TRAIN = NightlyCell("mlp", "train", {"data": "digits:size=8", "model": "mlp:width=8", "iterations": 2, "device": "cpu"})
FOLDS = NightlyCell("graphs", "train", {"data": "toy_graphs", "model": "gcn", "epochs": 1})
LAYER = NightlyCell("layer", "profile", {"norm": "popnorm"}, ((8, 8),))


def suite_of(*cells: NightlyCell) -> NightlySuite:
    return NightlySuite("mine", cells)


def test_trainings_change_and_profiles_and_cross_validations_do_not() -> None:
    train, *others = with_processes(suite_of(TRAIN, FOLDS, LAYER), BOTH).cells
    assert make_config(train.settings) == make_config({**TRAIN.settings, **BOTH})
    assert others == [FOLDS, LAYER]
    assert environment_class({}, train) != environment_class({}, TRAIN)  # nights are compared with their own kind


def test_without_options_the_suite_is_as_in_its_file() -> None:
    assert with_processes(suite_of(TRAIN), {}) == suite_of(TRAIN)


def test_a_suite_without_such_trainings_is_refused() -> None:
    with pytest.raises(UsageError, match="mine has no training that several processes can share"):
        with_processes(suite_of(FOLDS, LAYER), BOTH)


@pytest.mark.slow
def test_a_cell_is_measured_with_two_processes(store: Store) -> None:
    (cell,) = with_processes(suite_of(TRAIN), BOTH).cells
    done = measure(cell, store)
    assert {"train/loss", "test/accuracy", "time_vs_calibration"} <= set(done.values)
    assert store.find(done.run_id or "").config["nproc"] == 2
