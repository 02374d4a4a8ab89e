"""Accuracy by group against counting by hand, and which epoch is chosen."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from normbench_cli.engine.groups import GroupTally, choose, select


def test_overlapping_groups_are_counted_over_batches() -> None:
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 3, generator=draw)
    labels = torch.randint(0, 3, (50,), generator=draw)
    groups = torch.rand(50, 3, generator=draw) < torch.tensor([0.8, 0.3, 0.0])
    tally = GroupTally(("many", "few", "nobody"))
    for start in range(0, 50, 16):
        part = slice(start, start + 16)
        tally.add(logits[part], labels[part], groups[part])
    right = (logits.argmax(1) == labels).double()
    many, few = (right[groups[:, g]].mean().item() for g in (0, 1))
    assert tally.finish() == pytest.approx(
        {
            "group/many/accuracy": many,
            "group/few/accuracy": few,
            "accuracy": right.mean().item(),
            "worst_group_accuracy": min(many, few),
        }
    )


def test_a_tally_of_nothing_is_empty() -> None:
    assert GroupTally(("a",)).finish() == {}


def test_groups_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="groups have the shape"):
        GroupTally(("a", "b")).add(torch.zeros(3, 2), torch.zeros(3), torch.zeros(3, 1, dtype=torch.bool))


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
    assert select(history) == {
        "epoch@best_worst_group": 3,
        "epoch@best_average": 3,
        "epoch@last": 5,
        "test/accuracy@best_worst_group": 0.3,
        "test/accuracy@best_average": 0.3,
        "test/accuracy@last": 0.5,
    }


def test_without_groups_the_other_rules_remain() -> None:
    history = [{"validation/accuracy": 0.9, "test/accuracy": 0.8}, {"validation/accuracy": 0.7, "test/accuracy": 0.9}]
    assert select(history) == {
        "epoch@best_average": 1,
        "test/accuracy@best_average": 0.8,
        "epoch@last": 2,
        "test/accuracy@last": 0.9,
    }
    assert select([]) == {}


@pytest.mark.parametrize("history", [[], [{"test/accuracy": 1.0}], [epoch(math.nan, 1, 1)]])
def test_choosing_without_a_score_is_one_sentence(history: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"no epoch"):
        choose(history, "best_worst_group")
