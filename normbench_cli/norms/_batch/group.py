"""What the layers over groups of channels share: torch's GroupNorm, in any precision and for a single value too."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Grouped(nn.GroupNorm):
    """Torch's GroupNorm; half-precision inputs are normalized in float32, as CUDA's autocast does.

    On a CPU that is also faster: torch's backward of channels-last bfloat16 takes several times as long.
    """

    def forward(self, input: Tensor) -> Tensor:
        # The operator itself: the function around it refuses a single value, which the last batch of an epoch may be.
        data = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        return torch.group_norm(data, self.num_groups, self.weight, self.bias, self.eps).to(input.dtype)
