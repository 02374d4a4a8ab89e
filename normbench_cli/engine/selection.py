"""Model selection: the epoch that is best on validation data, by worst-group or average accuracy, or the last one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Metrics = Mapping[str, float]

SELECTION_RULES = {  # name -> the metric that is highest in the selected epoch; None for the last epoch
    "best_worst_group": "validation/worst_group_accuracy",
    "best_average": "validation/accuracy",
    "last": None,
}


def best_epoch(history: Sequence[Metrics], rule: str) -> int:
    """Return the index of the epoch that a rule selects, given the metrics of all epochs; the first one of a tie."""
    name = SELECTION_RULES[rule]
    if not history:
        raise ValueError("there is no epoch to choose from")
    if name is None:
        return len(history) - 1
    scores = [metrics.get(name, math.nan) for metrics in history]
    ranked = [-math.inf if math.isnan(score) else score for score in scores]
    if max(ranked) == -math.inf:
        raise ValueError(f"no epoch has the metric {name}; the data set lacks a validation split or groups")
    return ranked.index(max(ranked))


def selected_metrics(history: Sequence[Metrics]) -> dict[str, float]:
    """For each rule, the number of the epoch it selects, `epoch@best_average`, and the test metrics of that epoch,
    `test/accuracy@best_average`.  Rules whose metric was never measured are omitted."""
    measured = {name for metrics in history for name, value in metrics.items() if not math.isnan(value)}
    selected: dict[str, float] = {}
    for rule, name in SELECTION_RULES.items():
        if not history or (name is not None and name not in measured):
            continue
        index = best_epoch(history, rule)
        selected[f"epoch@{rule}"] = index + 1
        tests = {key: value for key, value in history[index].items() if key.startswith("test/") and "@" not in key}
        selected |= {f"{key}@{rule}": value for key, value in tests.items()}
    return selected
