"""A layer as a workload: forward and backward, with the bytes that it saves, also for an identity."""

from __future__ import annotations

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
