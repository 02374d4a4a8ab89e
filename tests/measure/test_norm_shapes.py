"""The shapes with which a model calls its norms."""

from __future__ import annotations

import torch
from torch import nn

from normbench_cli.measure.norm_shapes import norm_shapes


def test_every_call_counts_and_hooks_are_removed() -> None:
    norm = nn.BatchNorm2d(3)
    model = nn.Sequential(nn.Conv2d(1, 3, 3), norm, nn.ReLU(), norm, nn.AvgPool2d(2), nn.GroupNorm(1, 3))
    assert norm_shapes(model, lambda: model(torch.zeros(5, 1, 8, 8))) == {(5, 3, 6, 6): 2, (5, 3, 3, 3): 1}
    assert not any(module._forward_pre_hooks for module in model.modules())
