"""The base of the norms over groups of channels: torch's GroupNorm, in any precision and for a single value too."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def fitting_groups(groups: int, channels: int) -> int:
    """The largest number of groups, at most so many, that divides the channels."""
    if groups < 1:
        raise ValueError(f"groups = {groups}: at least one group is needed")
    return max(number for number in range(1, min(groups, channels) + 1) if channels % number == 0)


class GroupNormBase(nn.GroupNorm):
    """Torch's GroupNorm; half-precision inputs are normalized in float32, as CUDA's autocast does.

    On a CPU that is also faster: torch's backward of channels-last bfloat16 takes several times as long.
    """

    def forward(self, input: Tensor) -> Tensor:
        # The operator itself: nn.functional.group_norm refuses a single value, which the last batch of an epoch may be.
        data = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        return torch.group_norm(data, self.num_groups, self.weight, self.bias, self.eps).to(input.dtype)
