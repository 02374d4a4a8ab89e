"""Folds that hold out a validation set, and keep their own graphs for a test: who reads what, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.engine.crossval import FoldPlan, finished_folds
from normbench_cli.engine.crossval.fold import make_folds
from normbench_cli.engine.crossval.train import train_fold
from normbench_cli.engine.events import Record
from tests.engine.crossval.toy import PLAN, adam, make_model, records_of, rings_and_paths, series_of


def first_of_each_class(labels: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Holds out four graphs of each class, which ones by the seed."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    held = torch.cat([order[labels[order] == label][:4] for label in (0, 1)])
    kept = torch.ones(len(labels), dtype=torch.bool)
    kept[held] = False
    return kept.nonzero()[:, 0], held.sort().values


TRIAL = replace(PLAN, hold_out=first_of_each_class, score_test="never")
FINAL = replace(PLAN, score_test="end")
BOTH = replace(TRIAL, score_test="end")


class Read:
    """The graphs, and all that was read of them so far."""

    def __init__(self) -> None:
        self.graphs = rings_and_paths()
        self.device, self.labels = self.graphs.device, self.graphs.labels
        self.reads: list[set[int]] = []

    def __len__(self) -> int:
        return len(self.graphs)

    def batch(self, chosen: Tensor) -> Any:
        self.reads.append(set(chosen.tolist()))
        return self.graphs.batch(chosen)

    def chunks(self, max_nodes: int) -> Sequence[Any]:
        self.reads.append(set(range(len(self))))
        return self.graphs.chunks(max_nodes)


def read_by(plan: FoldPlan, fold: int) -> tuple[list[set[int]], set[int]]:
    """What the training of a fold reads, in order, and the graphs that are the fold's own."""
    data = Read()
    own = set(range(30)) - set(replace(plan, hold_out=None).splits(data.labels)[fold].train.tolist())
    train_fold(make_folds(make_model, adam, data, plan)[fold], data, [], plan)
    return data.reads, own


@pytest.mark.parametrize("fold", range(3))
def test_a_trial_reads_no_graph_of_the_fold_itself(fold: int) -> None:
    reads, own = read_by(TRIAL, fold)
    assert len(own) == 10
    assert {graph for read in reads for graph in read} == set(range(30)) - own


@pytest.mark.parametrize("plan", [FINAL, BOTH])
def test_the_own_graphs_of_a_fold_are_read_once_after_its_last_step(plan: FoldPlan) -> None:
    reads, own = read_by(plan, 1)
    assert reads[-1] == own
    assert not [read for read in reads[:-1] if own & read]


def test_what_is_held_out_is_of_the_training_part_and_differs_between_folds() -> None:
    splits = TRIAL.splits(rings_and_paths().labels)
    for split, plain in zip(splits, PLAN.splits(rings_and_paths().labels), strict=True):
        assert sorted([*split.train.tolist(), *split.validation.tolist()]) == plain.train.tolist()
        assert not len(split.test)
    assert len({tuple(split.validation.tolist()) for split in splits}) == 3
    assert [split.test.tolist() for split in BOTH.splits(rings_and_paths().labels)] == [
        plain.validation.tolist() for plain in PLAN.splits(rings_and_paths().labels)
    ]


def test_the_folds_have_a_seed_of_their_own() -> None:
    labels = rings_and_paths().labels
    same = replace(PLAN, seed=1, split_seed=9).splits(labels)
    assert [split.train.tolist() for split in same] == [split.train.tolist() for split in PLAN.splits(labels)]
    assert same[0].train.tolist() != replace(PLAN, seed=1).splits(labels)[0].train.tolist()


def test_a_fold_alone_gives_the_bits_that_it_gives_among_the_others() -> None:
    whole, alone = series_of(records_of(BOTH)), records_of(replace(BOTH, fold=1))
    assert series_of(alone) == {name: values for name, values in whole.items() if name.endswith("fold1")}
    assert [name for name in alone[-1].metrics if "_sd" in name] == []  # of one fold there is no spread


@pytest.mark.parametrize(("plan", "splits"), [(TRIAL, {"train", "validation"}), (FINAL, {"train", "test"})])
def test_only_what_a_plan_scores_is_recorded(plan: FoldPlan, splits: set[str]) -> None:
    for record in records_of(plan):
        scored = {name.partition("/")[0] for name in record.metrics if "accuracy" in name}
        assert scored == (splits - {"test"} if record.epoch else splits)


def test_the_test_of_a_run_is_the_mean_over_its_folds() -> None:
    *_, last = records = records_of(FINAL)
    of_folds = [record.metrics[f"test/accuracy@fold{fold}"] for fold, record in enumerate(records[:3])]
    assert last.metrics["test/accuracy"] == pytest.approx(sum(of_folds) / 3)
    assert last.metrics["test/accuracy_sd1"] == pytest.approx(torch.tensor(of_folds).double().std().item())


@pytest.mark.parametrize("plan", [TRIAL, FINAL, BOTH])
def test_folds_that_are_recorded_are_not_trained_again(plan: FoldPlan) -> None:
    whole = records_of(plan)
    recorded = {name: values for name, values in series_of(whole).items() if not name.endswith("fold1")}
    finished = finished_folds(recorded, plan.epochs, metrics_of(whole), plan.curves)
    assert list(finished) == [0, 2]
    rest = records_of(plan, finished)
    assert {name.rpartition("@")[2] for name in series_of(rest)} == {"fold1"}
    scores = [name for name in whole[-1].metrics if "accuracy" in name or "loss" in name]
    assert {name: rest[-1].metrics[name] for name in scores} == {name: whole[-1].metrics[name] for name in scores}


def metrics_of(records: list[Record]) -> dict[str, float]:
    return {name: value for record in records[:3] for name, value in record.metrics.items()}
