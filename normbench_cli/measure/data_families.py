"""Data like a network's channels, on which the generalized geometric median is easy or hard to find.

The hard ones have many equal values (a ReLU's zeros, a flat background), few values, or outliers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

VALUES, CHANNELS = 8192, 16
FEW = 8
Sample = Callable[[Tensor, Tensor], Tensor]

FAMILIES: dict[str, Sample] = {  # functions of normal numbers and of uniform ones in 0-1
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
    """One tensor (values, channels) per family, the same for equal arguments."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(values, channels, generator=generator)
    uniform = torch.rand(values, channels, generator=generator)
    return {name: sample(normal, uniform) for name, sample in FAMILIES.items()}
