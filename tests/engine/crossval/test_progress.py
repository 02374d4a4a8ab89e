"""What is reported of folds: curves and records of one, the progress of all, steps and metrics of the whole run."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from normbench_cli.engine.crossval import FoldPlan, cross_validate, finished_folds
from normbench_cli.engine.crossval.fold import Fold, make_folds
from normbench_cli.engine.crossval.loop import progress_of, record_of
from normbench_cli.engine.crossval.process_tuning import threads
from normbench_cli.engine.crossval.train import scoring_batches, train_fold
from normbench_cli.engine.events import Progress, Record
from tests.engine.crossval.toy import PLAN, adam, make_model, records_of, rings_and_paths, series_of

FOUR_EPOCHS = FoldPlan(folds=2, epochs=4)


def fold_at(epochs: int, steps: int = 0, number: int = 0) -> Fold:
    """A fold of six and two examples; in epoch e (from 1) losses sum to 12 e and 4 e, and 3 and 1 are correct."""
    model = nn.Linear(1, 1)
    sums = torch.zeros(4, 2, 2)
    for epoch in range(epochs):
        sums[epoch] = torch.tensor([[12.0 * (epoch + 1), 3.0], [4.0 * (epoch + 1), 1.0]])
    return Fold(
        model=model,
        objective=torch.mean,
        optimizer=adam(model),
        device=torch.device("cpu"),
        number=number,
        train=torch.arange(6),
        validation=torch.arange(6, 8),
        sums=sums,
        done=torch.tensor([epochs, steps]),
    )


def test_curves_are_means_over_the_examples_of_each_split_up_to_now() -> None:
    assert fold_at(2).curves() == {
        "train/loss": [2.0, 4.0],
        "train/accuracy": [0.5, 0.5],
        "validation/loss": [2.0, 4.0],
        "validation/accuracy": [0.5, 0.5],
    }


def test_the_record_of_a_fold_has_its_last_epoch_its_layers_and_its_curves() -> None:
    fold = fold_at(3, number=5)
    fold.layer_metrics = {"phi/min": 1.5}
    record = record_of(fold)
    assert (record.epoch, record.step) == (None, 3)
    assert record.metrics["train/loss@fold5"] == 6.0
    assert record.metrics["phi/min@fold5"] == 1.5
    assert record.series == {f"{name}@fold5": values for name, values in fold.curves().items()}


def test_progress_is_that_of_all_folds_with_the_scores_of_the_farthest_in_training() -> None:
    found = progress_of([fold_at(3, steps=30), fold_at(0, steps=5), fold_at(4, steps=40)], FOUR_EPOCHS, seconds=2.0)
    assert found == Progress(
        epoch=7 // 3,
        epochs=4,
        step=75,
        steps=75 * 4 * 3 // 7,
        loss=6.0,  # of the first, as the last is not in training any more
        accuracy=0.5,
        samples_per_s=7 * 6 / 2.0,
    )


def test_progress_before_the_first_epoch_has_no_scores() -> None:
    found = progress_of([fold_at(0, steps=3), fold_at(0)], FOUR_EPOCHS, seconds=0.0)
    assert math.isnan(found.loss)
    assert math.isnan(found.accuracy)
    assert (found.epoch, found.step, found.steps, found.samples_per_s) == (0, 3, 3 * 4 * 2, 0.0)


def test_progress_when_all_folds_have_ended_is_that_of_the_end() -> None:
    found = progress_of([fold_at(4, steps=8), fold_at(4, steps=8)], FOUR_EPOCHS, seconds=1.0)
    assert (found.epoch, found.step, found.steps, found.loss) == (4, 16, 16, 8.0)


def test_the_steps_of_a_run_are_those_of_all_folds_whether_trained_now_or_before() -> None:
    whole = records_of()
    steps = 3 * PLAN.steps_per_epoch(20)
    some = {name: values for name, values in series_of(whole).items() if not name.endswith("fold0")}
    for records in (whole, records_of(finished=finished_folds(some, PLAN.epochs))):
        assert [record.step for record in records[-5:]] == [steps, 2 * steps, 3 * steps, 4 * steps, 4 * steps]


def test_speed_and_memory_are_measured_only_if_a_fold_is_trained() -> None:
    names = {"peak_memory_bytes", "samples_per_s"}
    whole = records_of()
    again = records_of(finished=finished_folds(series_of(whole), PLAN.epochs))
    assert names <= whole[-1].metrics.keys()
    assert not names & again[-1].metrics.keys()
    assert whole[-1].metrics["peak_memory_bytes"] > 1e6


@pytest.mark.parametrize("workers", [1, 2])
def test_layers_are_measured_in_every_way_of_training(workers: int) -> None:
    plan = replace(PLAN, epochs=1)
    (expected, found) = (records_of(plan, norm="augnorm", workers=count)[-1].metrics for count in (1, workers))
    names = {name for name in expected if name.startswith("solver/")}
    assert len(names) == 5
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}
    assert found["peak_memory_bytes"] > 1e6


def test_a_fold_that_is_told_to_stop_keeps_its_epochs_and_measures_nothing_more() -> None:
    data, answers = rings_and_paths(), iter([True, True, False])
    fold = make_folds(partial(make_model, "augnorm"), adam, data, PLAN)[0]
    train_fold(fold, data, scoring_batches(data), PLAN, lambda: next(answers))
    assert fold.epochs_done == 2
    assert fold.steps == 2 * PLAN.steps_per_epoch(len(fold.train))
    assert fold.layer_metrics == {}
    assert all(len(values) == 2 for values in fold.curves().values())


def test_the_curves_of_training_are_scores_of_the_examples_trained_on() -> None:
    data, plan = rings_and_paths(), replace(PLAN, epochs=1)
    fold = make_folds(make_model, adam, data, plan)[1]
    train_fold(fold, data, scoring_batches(data), plan)
    for split, chosen in (("train", fold.train), ("validation", fold.validation)):
        inputs, labels = data.batch(chosen)
        with torch.no_grad():
            outputs = fold.model.eval()(inputs)
        assert fold.curves()[f"{split}/loss"] == pytest.approx([nn.functional.cross_entropy(outputs, labels).item()])
        assert fold.curves()[f"{split}/accuracy"] == pytest.approx(
            [(outputs.argmax(1) == labels).double().mean().item()]
        )


def test_initial_weights_differ_between_folds_and_depend_on_the_seed_alone() -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        folds = make_folds(make_model, adam, rings_and_paths(), replace(PLAN, seed=seed))
        return [fold.model.get_parameter("classifier.weight") for fold in folds]

    torch.manual_seed(1)
    first, drawn = weights(9), torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))  # torch's own generator is left alone
    torch.testing.assert_close(first, weights(9), rtol=0, atol=0)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], weights(10)[0])


def test_an_event_comes_while_folds_are_trained() -> None:
    with threads(1):
        events = list(cross_validate(make_model, adam, rings_and_paths(), PLAN))
    assert all(isinstance(event, Progress | Record) for event in events)
    assert isinstance(events[-1], Record)
