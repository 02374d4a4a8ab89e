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


def test_buffers_are_not_counted_and_views_count_as_their_whole_storage_once() -> None:
    x = torch.randn(10, 10, requires_grad=True)
    layer = nn.Module()
    layer.register_buffer("scale", torch.ones(10, 10))
    assert saved_activation_bytes(lambda: x * layer.get_buffer("scale"), layer) == 0
    assert saved_activation_bytes(lambda: x * layer.get_buffer("scale")) == 400
    base = torch.randn(20, 10)
    assert saved_activation_bytes(lambda: x * base[:10] + x * base[10:]) == 800


def test_nothing_is_saved_without_gradients() -> None:
    assert saved_activation_bytes(lambda: torch.ones(3).exp()) == 0
