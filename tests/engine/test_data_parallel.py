"""Processes that train together take the steps of one process with the whole batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli.engine.data_parallel import DataParallel, Part
from tests.engine.parallel_runs import descend, descend_in_part, fit_alone, fit_part, network
from tests.gloo import run_processes
from tests.norms.synced_layers import EXACT

SELDOM = ("phi=1,", "phi=2", "phi=inf", "newton", "high=4")  # tested in single steps (tests/norms/test_synced.py)
TRAINED = [spec for spec in EXACT if not any(word in spec for word in SELDOM)]


@pytest.mark.parametrize(
    ("size", "whole", "lengths"), [(2, 8, [4, 4]), (3, 8, [3, 3, 2]), (3, 2, [1, 1, 0]), (4, 1, [1, 0, 0, 0])]
)
def test_parts_are_consecutive_and_differ_by_one_example_at_most(size: int, whole: int, lengths: list[int]) -> None:
    parts = [DataParallel(rank, size, synced=True, seed=0).part_of(whole) for rank in range(size)]
    assert [part.stop - part.start for part in parts] == lengths
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(whole))


def test_a_part_with_statistics_of_its_own_has_two_examples_or_none() -> None:
    parts = [DataParallel(rank, 3, synced=False, seed=0).part_of(5) for rank in range(3)]
    assert parts == [Part(0, 3, 5), Part(3, 5, 5), Part(5, 5, 5)]
    assert DataParallel(0, 3, synced=False, seed=0).part_of(1) == Part(0, 1, 1)


def check_runs(size: int, settings: dict[str, Any], tolerance: float) -> None:
    alone = fit_alone({name: value for name, value in settings.items() if name != "sync_norm"})
    runs = run_processes(size, fit_part, settings)
    for run in runs:
        torch.testing.assert_close(run["losses"], alone["losses"], rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(run["state"], alone["state"], rtol=tolerance, atol=tolerance)
    for name in ("train/accuracy", "test/accuracy"):
        assert runs[0]["metrics"][name] == alone["metrics"][name]
    assert "test/accuracy" not in runs[1]["metrics"]


def test_twenty_steps_of_two_processes_equal_those_of_one() -> None:
    check_runs(2, {"norm": "batchnorm", "sync_norm": True, "batch_size": 64, "lr": 0.001}, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["erm", "cvar", "chi2_doro"])
def test_batches_too_small_for_all_processes_and_objectives_of_whole_batches(objective: str) -> None:
    # 1437 examples: the last batch of an epoch has two, for three processes.  A norm that removes the mean of two
    # values leaves a gradient of zero, which is rounding alone.
    settings = {"norm": "popnorm:remove=none", "sync_norm": True, "batch_size": 205, "lr": 0.001}
    check_runs(3, settings | {"objective": objective}, 2e-6)


@pytest.mark.slow
def test_with_statistics_of_its_own_each_process_counts_as_it_should() -> None:
    settings = {"norm": "layernorm", "batch_size": 205, "lr": 0.001}  # a norm that has none: the steps are the same
    check_runs(3, settings, 2e-6)
    runs = run_processes(3, fit_part, settings | {"norm": "batchnorm"})
    assert runs[0]["losses"] == runs[2]["losses"]
    assert runs[0]["losses"] != fit_alone(settings | {"norm": "batchnorm"})["losses"]


@pytest.mark.slow
@pytest.mark.parametrize("ends", [[0, 6, 12], [0, 3, 7, 12]])
def test_twenty_steps_in_float64_equal_those_of_one_process_for_every_norm(ends: list[int]) -> None:
    by_process = run_processes(len(ends) - 1, descend_in_part, TRAINED, ends)
    for spec, *states in zip(TRAINED, *by_process, strict=True):
        model = network(spec)
        whole = descend(model, model, slice(None), 1)
        for state in states:
            torch.testing.assert_close(state, whole, rtol=1e-10, atol=1e-10)
