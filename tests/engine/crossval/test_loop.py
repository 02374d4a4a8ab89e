"""The events of a cross-validation, resuming it, and stopping it early."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from itertools import islice
from typing import cast

import pytest
import torch
from torch import nn

from normbench_cli.engine.crossval import cross_validate, finished_folds
from normbench_cli.engine.crossval.statistics import CURVES
from normbench_cli.engine.events import Diverged, Progress
from normbench_cli.models.gcn import GCN
from tests.engine.crossval.toy import PLAN, adam, make_model, records_of, rings_and_paths, series_of


def test_there_is_a_record_for_each_fold_each_epoch_and_the_whole_run() -> None:
    records = records_of(norm="augnorm")
    assert [record.epoch for record in records] == [None] * 3 + [1, 2, 3, 4] + [None]
    assert {*CURVES, "validation/accuracy_sd0", "validation/accuracy_sd1"} <= records[3].metrics.keys()
    assert {"solver/iterations_mean", "solver/iterations_max", "solver/unconverged"} <= records[-1].metrics.keys()
    assert records[-1].metrics["samples_per_s"] > 0


def test_the_rate_counts_every_example_of_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 1000, 2))
    monkeypatch.setattr("normbench_cli.engine.crossval.loop.time.perf_counter", lambda: float(next(times)))
    metrics = records_of()[-1].metrics
    seconds = (next(times) - 2) - 0  # from the first reading of the clock to the last
    assert metrics["samples_per_s"] == PLAN.epochs * 60 / seconds  # 30 examples, each in the training set of two folds


def test_finished_folds_are_not_trained_again_and_the_others_give_the_same() -> None:
    whole = records_of()
    recorded = {name: values for name, values in series_of(whole).items() if not name.endswith("fold1")}
    finished = finished_folds(recorded, PLAN.epochs)
    assert list(finished) == [0, 2]
    rest = records_of(finished=finished)
    assert {name.rpartition("@")[2] for name in series_of(rest)} == {"fold1"}
    assert series_of(rest) == {name: series_of(whole)[name] for name in series_of(rest)}
    accuracy = [name for name in whole[-1].metrics if "accuracy" in name]
    assert {name: rest[-1].metrics[name] for name in accuracy} == {name: whole[-1].metrics[name] for name in accuracy}


def test_all_folds_finished_leaves_only_the_statistics() -> None:
    whole = records_of()
    again = records_of(finished=finished_folds(series_of(whole), PLAN.epochs))
    assert len(again) == PLAN.epochs + 1
    assert again[-1].metrics["validation/accuracy@last"] == whole[-1].metrics["validation/accuracy@last"]


def test_closing_the_generator_ends_every_training() -> None:
    long = replace(PLAN, epochs=100_000)
    events = cast("Generator[Progress]", cross_validate(make_model, adam, rings_and_paths(), long))
    *_, last = islice(events, 2)
    assert 0 < last.step < last.steps
    events.close()


def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    def ruined() -> GCN:
        model = make_model()
        nn.init.constant_(model.get_parameter("classifier.weight"), torch.nan)
        return model

    with pytest.raises(Diverged):
        list(cross_validate(ruined, adam, rings_and_paths(), PLAN))
