"""Accuracy by group against counting by hand."""

from __future__ import annotations

import pytest
import torch

from normbench_cli.engine.groups import GroupMeter


def test_overlapping_groups_are_counted_over_batches() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 3, generator=generator)
    labels = torch.randint(0, 3, (50,), generator=generator)
    groups = torch.rand(50, 3, generator=generator) < torch.tensor([0.8, 0.3, 0.0])
    meter = GroupMeter(("many", "few", "nobody"))
    for start in range(0, 50, 16):
        part = slice(start, start + 16)
        meter.add(logits[part], labels[part], groups[part])
    correct = (logits.argmax(1) == labels).double()
    many, few = (correct[groups[:, g]].mean().item() for g in (0, 1))
    assert meter.finish() == pytest.approx(
        {
            "group/many/accuracy": many,
            "group/few/accuracy": few,
            "accuracy": correct.mean().item(),
            "worst_group_accuracy": min(many, few),
        }
    )


def test_without_examples_there_are_no_metrics() -> None:
    assert GroupMeter(("a",)).finish() == {}


def test_groups_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="groups have the shape"):
        GroupMeter(("a", "b")).add(torch.zeros(3, 2), torch.zeros(3), torch.zeros(3, 1, dtype=torch.bool))


def test_accuracies_are_those_of_the_members_only() -> None:
    meter = GroupMeter(("a", "b"))
    logits = torch.tensor([[1.0, 0.0]]).expand(4, 2)
    meter.add(logits, torch.tensor([0, 0, 0, 1]), torch.tensor([[True, False]] * 2 + [[False, True]] * 2))
    assert meter.finish() == {
        "group/a/accuracy": 1.0,
        "group/b/accuracy": 0.5,
        "accuracy": 0.75,
        "worst_group_accuracy": 0.5,
    }
