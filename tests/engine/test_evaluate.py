"""Scoring: right numbers, from one pass for all disturbances, and the model left in its mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.engine.evaluate import Disturbance, score, score_each


class Batch(NamedTuple):
    inputs: Tensor
    labels: Tensor
    groups: Tensor | None = None


@dataclass
class Split:
    """Twelve examples in batches of unequal size; counts how often it is read."""

    batches: list[Batch] = field(
        default_factory=lambda: [Batch(torch.randn(n, 3), torch.arange(n) % 2) for n in (5, 5, 2)]
    )
    passes: int = 0

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        self.passes += 1
        return iter(self.batches)


class Classifier:
    """A model in training mode, as it is in the middle of a training."""

    device = torch.device("cpu")

    def __init__(self, *group_names: str) -> None:
        self.group_names = group_names
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.9), nn.Linear(4, 2)).train()

    def logits(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.model(inputs)
        return outputs


@pytest.fixture
def classifier() -> Classifier:
    torch.manual_seed(0)
    return Classifier()


@pytest.fixture
def split(classifier: Classifier) -> Split:
    return Split()


def test_one_pass_serves_all_disturbances(classifier: Classifier, split: Split) -> None:
    disturbances: list[Disturbance | None] = [None, lambda model, x, y: -x, lambda model, x, y: x + y[:, None]]
    together = score_each(classifier, split, disturbances)
    assert split.passes == 1
    assert together == [score(classifier, split, disturbance) for disturbance in disturbances]
    assert len({scores["loss"] for scores in together}) == 3
    assert classifier.model.training


def test_means_are_over_examples(classifier: Classifier, split: Split) -> None:
    scores, labels = score(classifier, split), torch.cat([batch.labels for batch in split.batches])
    outputs = classifier.model.eval()(torch.cat([batch.inputs for batch in split.batches]))
    assert scores["loss"] == pytest.approx(F.cross_entropy(outputs, labels).item(), rel=1e-6)
    assert scores["accuracy"] == pytest.approx((outputs.argmax(1) == labels).double().mean().item())


@pytest.mark.parametrize("training", [True, False])
def test_a_disturbance_sees_the_eval_mode_and_may_take_gradients(training: bool) -> None:
    classifier, seen = Classifier(), list[tuple[bool, bool]]()
    classifier.model.train(training)

    def disturbance(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        seen.append((model.training, torch.is_grad_enabled()))
        return x

    score(classifier, Split(), disturbance)
    assert seen == [(False, True)] * 3
    assert classifier.model.training is training


def test_scoring_builds_no_graph() -> None:
    classifier, graphs = Classifier(), list[bool]()
    classifier.model.register_forward_hook(lambda module, inputs, output: graphs.append(output.requires_grad))
    score(classifier, Split())
    assert graphs == [False] * 3


def test_groups_are_scored_if_the_data_set_has_them() -> None:
    split = Split([Batch(torch.zeros(2, 3), torch.arange(2), torch.tensor([[True, False], [False, True]]))] * 2)
    scores = score(Classifier("even", "odd"), split)
    assert {scores["group/even/accuracy"], scores["group/odd/accuracy"]} == {0.0, 1.0}  # all answers are the same
    assert (scores["accuracy"], scores["worst_group_accuracy"]) == (0.5, 0.0)
    assert score(Classifier(), split).keys() == {"loss", "accuracy"}


def test_the_right_class_among_the_five_highest_of_more_than_five(classifier: Classifier) -> None:
    classifier.model = nn.Sequential(nn.Linear(3, 7))
    split = Split([Batch(torch.randn(n, 3), torch.arange(n) % 7) for n in (9, 4)])
    inputs = torch.cat([batch.inputs for batch in split.batches])
    labels = torch.cat([batch.labels for batch in split.batches])
    ranks = classifier.logits(inputs).argsort(1, descending=True)
    right = [label in row for row, label in zip(ranks[:, :5].tolist(), labels.tolist(), strict=True)]
    assert 0 < sum(right) < 13
    assert score(classifier, split)["top5_accuracy"] == pytest.approx(sum(right) / 13)
    assert "top5_accuracy" not in score(Classifier(), Split())
