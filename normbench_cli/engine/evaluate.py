"""Scoring a model: loss and accuracy over a split, in eval mode."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.device import autocast
from normbench_cli.engine.records import Batches


@torch.no_grad()
def score(model: nn.Module, batches: Batches, device: torch.device, amp: str = "off") -> dict[str, float]:
    """Mean cross-entropy and share of right answers; the model is left in the mode it was in."""
    was_training = model.training
    model.eval()
    loss = torch.zeros((), dtype=torch.float64, device=device)
    right = torch.zeros((), dtype=torch.int64, device=device)
    for images, labels in batches.epoch():
        with autocast(device, amp):
            outputs = model(images)
        loss += F.cross_entropy(outputs.float(), labels, reduction="sum")
        right += (outputs.argmax(1) == labels).sum()
    model.train(was_training)
    return {"loss": loss.item() / batches.samples, "accuracy": right.item() / batches.samples}
