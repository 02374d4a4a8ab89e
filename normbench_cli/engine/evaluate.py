"""Scoring a model over a split, in eval mode: loss, accuracy, and accuracy by group where there are groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.engine.events import Batch, Batches
from normbench_cli.engine.groups import GroupTally


class Scored(Protocol):
    """What scoring needs of a run."""

    model: nn.Module
    device: torch.device
    group_names: tuple[str, ...]

    def call(self, inputs: Any) -> Tensor: ...


Disturb = Callable[[nn.Module, Tensor, Tensor], Tensor]


def score(run: Scored, batches: Batches, disturb: Disturb | None = None) -> dict[str, float]:
    """Mean cross-entropy and share of right answers, on inputs that `disturb` may change first."""
    return score_each(run, batches, [disturb])[0]


def score_each(run: Scored, batches: Batches, disturbances: Sequence[Disturb | None]) -> list[dict[str, float]]:
    """The scores under each disturbance, from one reading of the split.  The model is left in the mode it was in."""
    was_training = run.model.training
    run.model.eval()
    counts = [Count(run) for _ in disturbances]
    for batch in batches.epoch():
        for disturb, count in zip(disturbances, counts, strict=True):
            inputs = disturb(run.model, batch.inputs, batch.labels) if disturb else batch.inputs
            with torch.no_grad():
                count.add(run.call(inputs), batch)
    run.model.train(was_training)
    return [count.finish() for count in counts]


class Count:
    """Losses and right answers so far, on the device."""

    def __init__(self, run: Scored) -> None:
        self._loss = torch.zeros((), dtype=torch.float64, device=run.device)
        self._right = torch.zeros((), dtype=torch.int64, device=run.device)
        self._by_group = GroupTally(run.group_names, run.device) if run.group_names else None
        self._seen = 0

    def add(self, outputs: Tensor, batch: Batch) -> None:
        self._loss += F.cross_entropy(outputs, batch.labels, reduction="sum")
        self._right += (outputs.argmax(1) == batch.labels).sum()
        if self._by_group is not None and batch.groups is not None:
            self._by_group.add(outputs, batch.labels, batch.groups)
        self._seen += len(batch.labels)

    def finish(self) -> dict[str, float]:
        found = {"loss": self._loss.item() / self._seen, "accuracy": self._right.item() / self._seen}
        return found | (self._by_group.finish() if self._by_group is not None else {})
