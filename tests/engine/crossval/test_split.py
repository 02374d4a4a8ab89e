"""Folds are stratified, the same for the same seed, and those that the papers' code makes."""

from __future__ import annotations

import os

import pytest
import torch

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._files.places import find_text_file, find_tu_folder
from normbench_cli.engine.crossval.split import assign_folds
from normbench_cli.errors import UsageError

FIRST_OF_MUTAG = [0, 1, 7, 0, 8, 3, 6, 4, 4, 0]


def test_folds_are_stratified_and_the_same_for_the_same_seed() -> None:
    labels = torch.tensor([0] * 12 + [1] * 6)
    assigned = assign_folds(labels, 3, 9)
    assert torch.equal(assigned, assign_folds(labels, 3, 9))
    assert [torch.bincount(labels[assigned == fold]).tolist() for fold in range(3)] == [[4, 2]] * 3


@pytest.mark.parametrize("folds", [1, 0, 7])
def test_impossible_folds_are_refused(folds: int) -> None:
    with pytest.raises(UsageError, match="smallest class has 6 samples; give 2 to 6 folds"):
        assign_folds(torch.tensor([0] * 12 + [1] * 6), folds, 9)


@pytest.mark.parametrize("folds", range(2, 7))
def test_every_number_of_folds_up_to_the_smallest_class_is_possible(folds: int) -> None:
    labels = torch.tensor([0] * 12 + [1] * 6)
    assigned = assign_folds(labels, folds, 9)
    counts = torch.stack([torch.bincount(assigned[labels == label], minlength=folds) for label in (0, 1)])
    assert (counts.amax(1) - counts.amin(1)).max() <= 1
    assert counts.min() >= 1


@pytest.mark.parametrize(("name", "sizes"), [("mutag", {19: 8, 18: 2}), ("proteins", {112: 3, 111: 7})])
def test_the_folds_of_the_published_data_sets_are_the_known_ones(name: str, sizes: dict[int, int]) -> None:
    if not (find_tu_folder(name.upper()) or find_text_file(name.upper())):
        pytest.skip(f"NORMBENCH_DATA={os.environ.get('NORMBENCH_DATA', '')} does not hold {name}")
    assigned = assign_folds(DATASETS.build(name).labels, 10, 9)
    counts = torch.bincount(assigned).tolist()
    assert {size: counts.count(size) for size in counts} == sizes
    if name == "mutag":
        assert assigned[:10].tolist() == FIRST_OF_MUTAG
