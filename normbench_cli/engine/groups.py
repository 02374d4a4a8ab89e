"""Accuracy of each group, of the worst group, and over all examples."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class GroupMeter:
    """Counts correct predictions by group, on the device until `finish`.  Groups may overlap."""

    def __init__(self, names: Iterable[str], device: torch.device | str = "cpu") -> None:
        self.names = tuple(names)
        self._correct = torch.zeros(len(self.names) + 1, dtype=torch.int64, device=device)  # the last counts all
        self._examples = torch.zeros_like(self._correct)

    def add(self, logits: Tensor, labels: Tensor, groups: Tensor) -> None:
        """Add a batch: logits (N, classes), labels (N,), groups bool (N, groups)."""
        if groups.shape != (len(labels), len(self.names)):
            raise ValueError(f"groups have the shape {tuple(groups.shape)}; give {(len(labels), len(self.names))}")
        members = torch.cat([groups, groups.new_ones(len(labels), 1)], 1)
        self._correct += (members & (logits.argmax(1) == labels).unsqueeze(1)).sum(0)
        self._examples += members.sum(0)

    def finish(self) -> dict[str, float]:
        """`accuracy` over examples, `worst_group_accuracy`, `group/<name>/accuracy`; empty groups are omitted."""
        correct, examples = torch.stack([self._correct, self._examples]).tolist()
        by_group = {name: c / n for name, c, n in zip(self.names, correct, examples, strict=False) if n}
        found = {f"group/{name}/accuracy": accuracy for name, accuracy in by_group.items()}
        if examples[-1]:
            found["accuracy"] = correct[-1] / examples[-1]
        if by_group:
            found["worst_group_accuracy"] = min(by_group.values())
        return found
