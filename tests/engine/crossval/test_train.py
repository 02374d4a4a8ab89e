"""Training of one fold: against the same training written out, its learning rate, its batches, divergence."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.engine.crossval import FoldPlan, assign_folds
from normbench_cli.engine.crossval.fold import make_folds
from normbench_cli.engine.crossval.train import scoring_batches, shuffled_batches, train_fold
from normbench_cli.engine.events import Diverged
from tests.engine.crossval.toy import PLAN, adam, make_model, rings_and_paths


def test_a_fold_equals_a_training_written_out() -> None:
    plan = replace(PLAN, epochs=2)
    data, number = rings_and_paths(), 1
    fold = make_folds(make_model, adam, data, plan)[number]
    model = make_folds(make_model, adam, data, plan)[number].model
    owner = assign_folds(data.labels, 3, 9)
    optimizer = torch.optim.Adam(model.parameters())
    order = torch.Generator().manual_seed(9 * 1_000_003 + number)
    model.get_submodule("dropout").generator = torch.Generator().manual_seed(9 * 1_000_003 + number + 500_009)  # type: ignore[assignment]
    expected = []
    for epoch in range(2):
        optimizer.param_groups[0]["lr"] = 0.01 * (2 - epoch) / 2
        train = (owner != number).nonzero()[:, 0]
        for chosen in train[torch.randperm(len(train), generator=order)].split(8):
            batch, labels = data.batch(chosen)
            optimizer.zero_grad()
            F.cross_entropy(model.train()(batch), labels).backward()
            optimizer.step()
        batch, labels = data.batch((owner == number).nonzero()[:, 0])
        with torch.no_grad():
            outputs = model.eval()(batch)
        expected.append((F.cross_entropy(outputs, labels).item(), (outputs.argmax(1) == labels).float().mean().item()))
    train_fold(fold, data, scoring_batches(data), plan)
    curves = fold.curves()
    found = list(zip(curves["validation/loss"], curves["validation/accuracy"], strict=True))
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-5, atol=1e-6)


def test_the_learning_rate_follows_the_schedule_once_an_epoch() -> None:
    plan = replace(PLAN, epochs=4, lr=0.5, schedule=lambda progress: 1 - progress**2)
    data = rings_and_paths()
    fold = make_folds(make_model, lambda model: torch.optim.SGD(model.parameters(), lr=123.0), data, plan)[0]
    rates: list[float] = []
    fold.optimizer.register_step_pre_hook(lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"]))
    train_fold(fold, data, scoring_batches(data), plan)
    steps = plan.steps_per_epoch(len(fold.train))
    assert rates == [0.5 * (1 - progress**2) for progress in (0, 0.25, 0.5, 0.75) for _ in range(steps)]


def test_a_loss_that_is_not_finite_ends_the_training() -> None:
    data = rings_and_paths()
    fold = make_folds(make_model, adam, data, PLAN)[0]
    nn.init.constant_(fold.model.get_parameter("classifier.weight"), float("nan"))
    with pytest.raises(Diverged) as stop:
        train_fold(fold, data, scoring_batches(data), PLAN)
    assert stop.value.step == PLAN.steps_per_epoch(len(fold.train))


@pytest.mark.parametrize(
    ("examples", "size", "sizes"),
    [(16, 8, [8, 8]), (9, 8, [9]), (17, 8, [8, 9]), (18, 8, [8, 8, 2]), (1, 8, [1]), (3, 1, [1, 2])],
)
def test_a_single_example_left_over_joins_the_batch_before(examples: int, size: int, sizes: list[int]) -> None:
    batches = list(shuffled_batches(torch.arange(examples), size, torch.Generator()))
    assert [len(batch) for batch in batches] == sizes
    assert sorted(torch.cat(batches).tolist()) == list(range(examples))
    assert FoldPlan(batch_size=size).steps_per_epoch(examples) == len(sizes)
