"""Data on which the generalized geometric median is easy or hard to find: what channels of a network look like.

The hard ones have many equal values (a ReLU's zeros, a flat background), few values, or some that are far away.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

VALUES, CHANNELS = 8192, 16
FEW = 8
Sample = Callable[[Tensor, Tensor], Tensor]

FAMILIES: dict[str, Sample] = {  # of normally distributed numbers, and of others between 0 and 1
    "normal": lambda normal, uniform: normal,
    "relu": lambda normal, uniform: normal.relu(),
    "mostly-zeros": lambda normal, uniform: (normal - 2).relu(),
    "cauchy": lambda normal, uniform: torch.tan(math.pi * (uniform - 0.5)),
    "log-normal": lambda normal, uniform: (2 * normal).exp(),
    "two-clusters": lambda normal, uniform: (uniform > 0.3).float() + 1e-3 * normal,
    "binary": lambda normal, uniform: (uniform > 0.3).float(),
    "constant": lambda normal, uniform: normal[:1].expand_as(normal).contiguous(),
    "eight-values": lambda normal, uniform: normal[:FEW],
}


def data_families(values: int = VALUES, channels: int = CHANNELS, seed: int = 0) -> dict[str, Tensor]:
    """Of each family a tensor (values, channels), the same ones for equal arguments."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(values, channels, generator=generator)
    uniform = torch.rand(values, channels, generator=generator)
    return {name: sample(normal, uniform) for name, sample in FAMILIES.items()}
