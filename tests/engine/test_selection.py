"""Which epoch is selected, and the metrics that are reported of it."""

from __future__ import annotations

import math

import pytest

from normbench_cli.engine.selection import best_epoch, selected_metrics


def epoch(worst: float, average: float, number: int) -> dict[str, float]:
    return {
        "validation/worst_group_accuracy": worst,
        "validation/accuracy": average,
        "test/accuracy": number / 10,
        "test/accuracy@bim": 0.0,
        "train/loss": 1.0,
    }


def test_every_rule_names_its_epoch_and_the_first_of_equals_wins() -> None:
    history = [
        epoch(0.2, 0.9, 1),
        epoch(math.nan, 0.7, 2),
        epoch(0.5, 0.95, 3),
        epoch(0.5, 0.95, 4),
        epoch(0.1, 0.8, 5),
    ]
    assert selected_metrics(history) == {
        "epoch@best_worst_group": 3,
        "epoch@best_average": 3,
        "epoch@last": 5,
        "test/accuracy@best_worst_group": 0.3,
        "test/accuracy@best_average": 0.3,
        "test/accuracy@last": 0.5,
    }


def test_without_groups_the_other_rules_remain() -> None:
    history = [{"validation/accuracy": 0.9, "test/accuracy": 0.8}, {"validation/accuracy": 0.7, "test/accuracy": 0.9}]
    assert selected_metrics(history) == {
        "epoch@best_average": 1,
        "test/accuracy@best_average": 0.8,
        "epoch@last": 2,
        "test/accuracy@last": 0.9,
    }
    assert selected_metrics([]) == {}


@pytest.mark.parametrize("history", [[], [{"test/accuracy": 1.0}], [epoch(math.nan, 1, 1)]])
def test_selecting_without_a_score_is_one_sentence(history: list[dict[str, float]]) -> None:
    with pytest.raises(ValueError, match=r"no epoch"):
        best_epoch(history, "best_worst_group")
