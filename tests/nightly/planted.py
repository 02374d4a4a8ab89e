"""A norm that works longer when a file says so: a slowdown that a test plants in one layer."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

FILE = Path("planted-work.txt")  # how many more passes over its input a layer makes; none without it


class Planted(nn.Module):
    """BatchNorm with more work, which saves nothing for backward and changes no result."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_features)
        self.passes = int(FILE.read_text()) if FILE.exists() else 0

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            for _ in range(self.passes):
                torch.var_mean(x, (0, 2, 3))
        y: Tensor = self.norm(x)
        return y
