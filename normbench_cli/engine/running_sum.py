"""A sum of many float32 values, kept on the device with the precision of float64."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from normbench_cli.device import has_float64


class RunningSum:
    """A sum in float64, or on devices without it in two float32 numbers: the sum and its rounding error.

    The rounding error of s = a + b is exactly (a - (s - b')) + (b - b') with b' = s - a (Knuth, The Art of Computer
    Programming 2, 4.2.2).
    """

    def __init__(self, device: torch.device) -> None:
        self._wide = has_float64(device)
        self._sum = torch.zeros((), dtype=torch.float64 if self._wide else torch.float32, device=device)
        self._lost = torch.zeros_like(self._sum)

    def add(self, value: Tensor) -> None:
        if self._wide:
            self._sum += value
            return
        total = self._sum + value
        part = total - self._sum
        self._lost += (self._sum - (total - part)) + (value - part)
        self._sum = total

    def item(self) -> float:
        total = self._sum.item()
        return total + self._lost.item() if math.isfinite(total) and not self._wide else total
