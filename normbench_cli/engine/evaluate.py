"""Scoring a model over a split, in eval mode: loss, accuracy, and accuracy by group where there are groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.engine.groups import GroupTally
from normbench_cli.engine.records import Batches


class Scored(Protocol):
    """What scoring needs of a run."""

    model: nn.Module
    device: torch.device
    group_names: tuple[str, ...]

    def call(self, inputs: Any) -> Tensor: ...


def score(
    run: Scored, batches: Batches, disturb: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None
) -> dict[str, float]:
    """Mean cross-entropy and share of right answers, on inputs that `disturb` may change first.

    The model is left in the mode it was in.
    """
    was_training = run.model.training
    run.model.eval()
    loss = torch.zeros((), dtype=torch.float64, device=run.device)
    right = torch.zeros((), dtype=torch.int64, device=run.device)
    by_group = GroupTally(run.group_names, run.device) if run.group_names else None
    seen = 0
    for batch in batches.epoch():
        inputs = disturb(run.model, batch.inputs, batch.labels) if disturb else batch.inputs
        with torch.no_grad():
            outputs = run.call(inputs)
            loss += F.cross_entropy(outputs, batch.labels, reduction="sum")
            right += (outputs.argmax(1) == batch.labels).sum()
            if by_group is not None and batch.groups is not None:
                by_group.add(outputs, batch.labels, batch.groups)
        seen += len(batch.labels)
    run.model.train(was_training)
    found = {"loss": loss.item() / seen, "accuracy": right.item() / seen}
    return found | (by_group.finish() if by_group is not None else {})
