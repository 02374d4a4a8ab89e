"""A layer as a workload: forward and backward, with the bytes that it saves, also for an identity."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.measure.workloads import layer_workload


@pytest.mark.parametrize("layer", [nn.BatchNorm2d(3), nn.Identity()])
@pytest.mark.parametrize("channels_last", [False, True])
def test_a_layer_runs_forward_and_backward(layer: nn.Module, channels_last: bool) -> None:
    workload = layer_workload(layer, (4, 3, 5, 5), torch.device("cpu"), channels_last=channels_last)
    workload.step()
    assert workload.model is layer
    assert (workload.saved_bytes > 0) == bool(list(layer.parameters()))
    assert all(p.grad is None for p in layer.parameters())  # a step leaves nothing behind


def test_equal_shapes_have_equal_data() -> None:
    seen: list[torch.Tensor] = []
    for _ in range(2):
        layer = nn.Identity()
        layer.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].detach()))
        layer_workload(layer, (4, 3), torch.device("cpu"))
    assert torch.equal(*seen)


class Watched(nn.Linear):
    """Notes what it is called with."""

    def __init__(self) -> None:
        super().__init__(6, 6)
        self.seen: list[tuple[bool, torch.dtype, torch.dtype, bool]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
        self.seen.append((self.training, x.dtype, y.dtype, last))
        return y


@pytest.mark.parametrize(
    ("options", "x", "y"),
    [
        ({}, torch.float32, torch.float32),
        ({"dtype": torch.float64}, torch.float64, torch.float64),
        ({"amp": "bf16"}, torch.float32, torch.bfloat16),
    ],
)
@pytest.mark.parametrize("channels_last", [False, True])
def test_a_layer_is_called_as_it_is_asked_for(
    options: dict[str, Any], x: torch.dtype, y: torch.dtype, channels_last: bool
) -> None:
    layer = Watched().eval()
    workload = layer_workload(layer, (2, 3, 4, 6), torch.device("cpu"), channels_last=channels_last, **options)
    workload.step()
    assert layer.seen == [(True, x, y, channels_last)] * 2


def test_channels_last_has_no_meaning_for_other_shapes() -> None:
    layer = Watched()
    layer_workload(layer, (2, 6), torch.device("cpu"), channels_last=True).step()
    assert len(layer.seen) == 2
