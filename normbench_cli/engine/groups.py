"""Accuracy by group: each group's, the worst one's, the average; and which epoch to choose by them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

Metrics = Mapping[str, float]


class GroupTally:
    """Right answers by group, counted on the device until somebody asks.  Groups may overlap."""

    def __init__(self, names: Iterable[str], device: torch.device | str = "cpu") -> None:
        self.names = tuple(names)
        self._right = torch.zeros(len(self.names) + 1, dtype=torch.int64, device=device)  # the last counts everybody
        self._seen = torch.zeros_like(self._right)

    def add(self, logits: Tensor, labels: Tensor, groups: Tensor) -> None:
        """A batch: logits (N, classes), labels (N,), groups bool (N, groups)."""
        if groups.shape != (len(labels), len(self.names)):
            raise ValueError(f"groups have the shape {tuple(groups.shape)}; give {(len(labels), len(self.names))}")
        inside = torch.cat([groups, groups.new_ones(len(labels), 1)], 1)
        self._right += (inside & (logits.argmax(1) == labels).unsqueeze(1)).sum(0)
        self._seen += inside.sum(0)

    def finish(self) -> dict[str, float]:
        """`accuracy` over samples, `worst_group_accuracy`, `group/<name>/accuracy`; an empty group has none."""
        right, seen = torch.stack([self._right, self._seen]).tolist()
        shares = {name: r / n for name, r, n in zip((*self.names, ""), right, seen, strict=True) if n}
        found = {f"group/{name}/accuracy": share for name, share in shares.items() if name}
        if "" in shares:
            found["accuracy"] = shares[""]
        if len(shares) > 1:
            found["worst_group_accuracy"] = min(share for name, share in shares.items() if name)
        return found


RULES = {  # name -> the metric whose best epoch is chosen, the first of equals; None for the last epoch
    "best_worst_group": "validation/worst_group_accuracy",
    "best_average": "validation/accuracy",
    "last": None,
}


def choose(history: Sequence[Metrics], rule: str) -> int:
    """The index of the epoch that a rule chooses from the epochs' metrics."""
    name = RULES[rule]
    if not history:
        raise ValueError("there is no epoch to choose from")
    if name is None:
        return len(history) - 1
    scores = [metrics.get(name, math.nan) for metrics in history]
    ranked = [-math.inf if math.isnan(score) else score for score in scores]
    if max(ranked) == -math.inf:
        raise ValueError(f"no epoch has the metric {name}; the data set lacks a validation split or groups")
    return ranked.index(max(ranked))


def select(history: Sequence[Metrics]) -> dict[str, float]:
    """The test metrics of the epoch that each rule chooses, as `test/accuracy@best_worst_group`, and its number.

    A rule whose metric was never measured is left out.
    """
    measured = {name for metrics in history for name, value in metrics.items() if not math.isnan(value)}
    chosen: dict[str, float] = {}
    for rule, name in RULES.items():
        if not history or (name is not None and name not in measured):
            continue
        index = choose(history, rule)
        chosen[f"epoch@{rule}"] = index + 1
        tests = {key: value for key, value in history[index].items() if key.startswith("test/") and "@" not in key}
        chosen |= {f"{key}@{rule}": value for key, value in tests.items()}
    return chosen
