"""Saved bytes: each storage once, and without parameters."""

from __future__ import annotations

import torch
from torch import nn

from normbench_cli.measure.memory import saved_activation_bytes


def test_saved_bytes_are_counted_once_and_without_parameters() -> None:
    x = torch.randn(10, 10, requires_grad=True)
    layer = nn.Linear(10, 10)
    assert saved_activation_bytes(lambda: layer(x), layer) == 400
    assert saved_activation_bytes(lambda: x.exp() + x.exp()) == 800
    assert saved_activation_bytes(lambda: x * x) == 400
