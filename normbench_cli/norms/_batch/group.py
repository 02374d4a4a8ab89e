"""Norms over groups of channels: how many groups there are, and the base of the layers."""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from normbench_cli.norms._batch.layout import working_dtype
from normbench_cli.registry.bounds import Bounds

Groups = Annotated[int | None, Bounds(least=1, most=1_000_000)]
DEFAULT_GROUPS = 32


def number_of_groups(groups: int | None, channels: int) -> int:
    """The number of groups of a layer: exactly `groups`, which must divide the channels; for None, the largest number
    up to 32 that divides them into groups of two or more.

    A group of one channel is instance normalization: if groups of any size were allowed, ResNet-20's layers of 16 and
    32 channels would all be that.
    """
    divisors = [number for number in range(1, channels + 1) if channels % number == 0]
    if groups is None:
        return max(number for number in divisors if number <= DEFAULT_GROUPS and (number < channels or number == 1))
    if groups not in divisors:
        fitting = ", ".join(map(str, divisors))
        raise ValueError(
            f"groups = {groups} does not divide the {channels} channels of a layer: give one of {fitting}, or leave it "
            "out for a number that fits each layer"
        )
    return groups


class GroupNormBase(nn.GroupNorm):
    """Torch's GroupNorm; half-precision inputs are normalized in float32, as CUDA's autocast does.

    On a CPU that is also faster: torch's backward of channels-last bfloat16 takes several times as long.
    """

    def __init__(self, num_groups: int, num_features: int, eps: float, affine: bool) -> None:
        super().__init__(num_groups, num_features, eps=eps, affine=affine)
        self.num_features = num_features

    def values_per_statistic(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape[1:]) // self.num_groups

    def forward(self, input: Tensor) -> Tensor:
        # The operator itself: nn.functional.group_norm rejects a single value, which the last batch of an epoch may be.
        data = input.to(working_dtype(input))
        weight, bias = (None if p is None else p.to(data.dtype) for p in (self.weight, self.bias))
        return torch.group_norm(data, self.num_groups, weight, bias, self.eps).to(input.dtype)
