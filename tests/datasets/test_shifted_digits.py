"""The digits with a misleading colour: sizes, groups, colours, determinism; and that plain training is misled."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._images.memory import Dataset, Split
from normbench_cli.engine.groups import GroupTally
from normbench_cli.errors import UsageError


@pytest.fixture(scope="module")
def data() -> Dataset:
    return DATASETS.build("shifted_digits")


def counts(split: Split) -> list[int]:
    return split.groups.sum(0).tolist()


def test_a_rare_group_is_one_per_cent_of_training_and_groups_weigh_the_same_afterwards(data: Dataset) -> None:
    assert counts(data.train) == [450, 150, 8, 142]
    assert len(data.train) == 750
    for split, digits in ((data.validation, 240), (data.test, 360)):
        assert len(split) == 2 * digits
        low_red, low_green, high_red, high_green = counts(split)
        assert low_red == low_green
        assert high_red == high_green
        assert abs(low_red - high_red) <= 2


def test_groups_are_the_label_and_the_colour(data: Dataset) -> None:
    for split in (data.train, data.validation, data.test):
        red, green, _ = split.images.float().sum((2, 3)).T
        group = split.groups.long().argmax(1)
        assert torch.equal(group // 2, split.labels)
        assert torch.equal(group % 2, (green > red).long())


def test_every_test_digit_comes_in_both_colours(data: Dataset) -> None:
    first, second = data.test.images.chunk(2)
    assert torch.equal(first.amax(1), second.amax(1))
    assert torch.equal(first[:, 2], second[:, 2])
    assert not torch.equal(first, second)


def test_no_digit_is_in_two_splits(data: Dataset) -> None:
    shapes = [{image.numpy().tobytes() for image in s.images.amax(1)} for s in (data.train, data.validation, data.test)]
    assert not shapes[0] & shapes[1]
    assert not shapes[0] & shapes[2]
    assert not shapes[1] & shapes[2]


def test_it_is_the_same_every_time_and_independent_of_the_seed(data: Dataset) -> None:
    torch.manual_seed(99)
    again = DATASETS.build("shifted_digits")
    assert torch.equal(again.train.images, data.train.images)
    assert torch.equal(again.train.groups, data.train.groups)
    assert (again.mean, again.std) == (data.mean, data.std)


def test_its_options_do_what_they_say() -> None:
    other = DATASETS.build("shifted_digits:size=16,rare=0.05,tint=0")
    assert other.train.images.shape[1:] == (3, 16, 16)
    assert counts(other.train) == [450, 150, 38, 112]
    assert torch.equal(other.train.images[:, 0], other.train.images[:, 1])


@pytest.mark.parametrize("wrong", ["size=4", "rare=0", "rare=0.5", "tint=2"])
def test_wrong_options_are_one_sentence(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"{wrong.partition('=')[0]} is .*; give"):
        DATASETS.build(f"shifted_digits:{wrong}")


def test_plain_training_fails_on_a_rare_group(data: Dataset) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(net.parameters(), 0.003)
    for _ in range(150):
        optimizer.zero_grad()
        F.cross_entropy(net(data.train.images / 255), data.train.labels).backward()
        optimizer.step()
    tally = GroupTally(data.group_names)
    tally.add(net(data.test.images / 255), data.test.labels, data.test.groups)
    found = tally.finish()
    assert found["worst_group_accuracy"] < found["accuracy"] - 0.15
    assert found["group/low_red/accuracy"] > 0.9
