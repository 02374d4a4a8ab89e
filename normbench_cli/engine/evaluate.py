"""Scoring a model over a split in eval mode: loss, accuracy, and accuracy by group if the data set has groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.engine.groups import GroupMeter
from normbench_cli.engine.protocols import Batch, Batches, Inputs
from normbench_cli.engine.running_sum import RunningSum

# (model, inputs, labels) -> inputs: an attack, a corruption
Disturbance: TypeAlias = Callable[[nn.Module, Tensor, Tensor], Tensor]


class HasModel(Protocol):
    """The part of `Training` and `Fold` that a forward pass uses."""

    @property
    def model(self) -> nn.Module: ...

    def logits(self, inputs: Inputs) -> Tensor: ...


class Scored(HasModel, Protocol):
    """The part of `Training` that scoring uses."""

    @property
    def device(self) -> torch.device: ...

    @property
    def group_names(self) -> tuple[str, ...]: ...


class Meter(Protocol):
    """Accumulates metrics from the logits of each batch."""

    def add(self, outputs: Tensor, batch: Batch) -> None: ...


def score(scored: Scored, batches: Batches, disturbance: Disturbance | None = None) -> dict[str, float]:
    """Mean cross-entropy and accuracy, optionally on perturbed inputs."""
    return score_each(scored, batches, [disturbance])[0]


def score_each(scored: Scored, batches: Batches, disturbances: Sequence[Disturbance | None]) -> list[dict[str, float]]:
    """Scores under each disturbance, from one pass over the split."""
    meters = [ScoreMeter(scored) for _ in disturbances]
    evaluate(scored, batches.epoch(), list(zip(disturbances, meters, strict=True)))
    return [meter.finish() for meter in meters]


def evaluate(learner: HasModel, batches: Iterable[Batch], meters: Sequence[tuple[Disturbance | None, Meter]]) -> None:
    """Pass the logits of all batches, in eval mode and without gradients, to the meters, each under its disturbance.

    The main loop and cross-validation share this pass.  The model's mode is restored.
    """
    was_training = learner.model.training
    learner.model.eval()
    for batch in batches:
        for disturbance, meter in meters:
            inputs = disturbance(learner.model, batch.inputs, batch.labels) if disturbance else batch.inputs
            with torch.no_grad():
                meter.add(learner.logits(inputs), batch)
    learner.model.train(was_training)


def correct(outputs: Tensor, labels: Tensor) -> Tensor:
    """Which predictions are correct: bool (N,)."""
    return outputs.argmax(1) == labels


TOP = 5


class ScoreMeter:
    """Accumulates loss and accuracy on the device; with more than five classes also top-5 accuracy.

    A split is summed batch by batch, as it may not fit into memory.  Cross-validation sums all examples of a fold at
    once (`crossval/train.py`), which rounds differently: the two share the forward pass, not the sum.
    """

    def __init__(self, scored: Scored) -> None:
        self._loss = RunningSum(scored.device)
        self._correct = torch.zeros((), dtype=torch.int64, device=scored.device)
        self._among_top = torch.zeros((), dtype=torch.int64, device=scored.device)
        self._classes = 0
        self._groups = GroupMeter(scored.group_names, scored.device) if scored.group_names else None
        self._examples = 0

    def add(self, outputs: Tensor, batch: Batch) -> None:
        self._loss.add(F.cross_entropy(outputs, batch.labels, reduction="sum"))
        self._correct += correct(outputs, batch.labels).sum()
        self._classes = outputs.shape[1]
        if self._classes > TOP:
            self._among_top += (outputs.topk(TOP, 1).indices == batch.labels.unsqueeze(1)).sum()
        if self._groups is not None and batch.groups is not None:
            self._groups.add(outputs, batch.labels, batch.groups)
        self._examples += len(batch.labels)

    def finish(self) -> dict[str, float]:
        scores = {"loss": self._loss.item() / self._examples, "accuracy": self._correct.item() / self._examples}
        if self._classes > TOP:
            scores["top5_accuracy"] = self._among_top.item() / self._examples
        return scores | (self._groups.finish() if self._groups is not None else {})
