"""The digits with a misleading color: sizes, groups, colors, determinism; and plain training is misled."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.datasets import DATASETS, InMemoryImages, Split
from normbench_cli.engine.groups import GroupMeter
from normbench_cli.errors import UsageError


@pytest.fixture(scope="module")
def data() -> InMemoryImages:
    data: InMemoryImages = DATASETS.build("shifted_digits")
    return data


def splits(data: InMemoryImages) -> list[Split]:
    assert data.validation is not None
    return [data.train, data.validation, data.test]


def groups_of(split: Split) -> Tensor:
    assert split.groups is not None
    return split.groups


def counts(split: Split) -> list[int]:
    sizes: list[int] = groups_of(split).sum(0).tolist()
    return sizes


def test_a_group_is_rare_in_training_and_groups_have_equal_weight_in_evaluation(data: InMemoryImages) -> None:
    assert counts(data.train) == [450, 150, 8, 142]
    assert len(data.train) == 750
    for split, digits in zip(splits(data)[1:], (240, 360), strict=True):
        assert len(split) == 2 * digits
        low_red, low_green, high_red, high_green = counts(split)
        assert low_red == low_green
        assert high_red == high_green
        assert abs(low_red - high_red) <= 2


def test_a_group_is_a_label_and_a_color(data: InMemoryImages) -> None:
    for split in splits(data):
        red, green, _ = split.images.float().sum((2, 3)).T
        group = groups_of(split).long().argmax(1)
        assert torch.equal(group // 2, split.labels)
        assert torch.equal(group % 2, (green > red).long())


def test_every_test_digit_comes_in_both_colors(data: InMemoryImages) -> None:
    first, second = data.test.images.chunk(2)
    assert torch.equal(first.amax(1), second.amax(1))
    assert torch.equal(first[:, 2], second[:, 2])
    assert not torch.equal(first, second)


def test_no_digit_is_in_two_splits(data: InMemoryImages) -> None:
    shapes = [{image.numpy().tobytes() for image in s.images.amax(1)} for s in splits(data)]
    assert not shapes[0] & shapes[1]
    assert not shapes[0] & shapes[2]
    assert not shapes[1] & shapes[2]


def test_it_is_the_same_every_time_and_independent_of_the_seed(data: InMemoryImages) -> None:
    torch.manual_seed(99)
    again = DATASETS.build("shifted_digits")
    assert torch.equal(again.train.images, data.train.images)
    assert torch.equal(again.train.groups, groups_of(data.train))
    assert (again.mean, again.std) == (data.mean, data.std)


def test_options_change_size_rarity_and_tint() -> None:
    other = DATASETS.build("shifted_digits:size=16,rare=0.05,tint=0")
    assert other.train.images.shape[1:] == (3, 16, 16)
    assert counts(other.train) == [450, 150, 38, 112]
    assert torch.equal(other.train.images[:, 0], other.train.images[:, 1])


@pytest.mark.parametrize("wrong", ["size=4", "rare=0", "rare=0.5", "tint=2"])
def test_an_option_out_of_range_is_refused_in_one_sentence(wrong: str) -> None:
    with pytest.raises(UsageError, match=f"{wrong.partition('=')[0]} is .*; give"):
        DATASETS.build(f"shifted_digits:{wrong}")


def test_plain_training_fails_on_the_rare_group(data: InMemoryImages) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(net.parameters(), 0.003)
    for _ in range(150):
        optimizer.zero_grad()
        torch.autograd.backward(F.cross_entropy(net(data.train.images / 255), data.train.labels))
        optimizer.step()
    tally = GroupMeter(data.group_names)
    tally.add(net(data.test.images / 255), data.test.labels, groups_of(data.test))
    found = tally.finish()
    assert found["worst_group_accuracy"] < found["accuracy"] - 0.15
    assert found["group/low_red/accuracy"] > 0.9
