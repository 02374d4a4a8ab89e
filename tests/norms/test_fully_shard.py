"""Layers whose parameters FSDP2 shards: outputs, gradients, running statistics, and what the optimizer must know."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from normbench_cli.norms.protocols import sync_norms, weight_decay_group
from tests.engine.parallel_runs import network
from tests.gloo import run_processes

SPECS = ["batchnorm", "augnorm:tol=exact", "diffphi:tol=exact", "mediannorm", "popnorm", "popnorm:divide=linf"]
STEPS = 3


def whole(tensor: Tensor) -> Tensor:
    """Of all processes."""
    found: Tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return found.detach().clone()


def train(model: nn.Module, taken: slice, processes: int) -> dict[str, Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(4)
    for _ in range(STEPS):
        inputs = torch.randn(12, 2, 6, 6, generator=generator, dtype=torch.float64)
        labels = torch.randint(0, 3, (12,), generator=generator)
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(inputs[taken]), labels[taken], reduction="sum")
        (losses * (processes / 12)).backward()
        optimizer.step()
    return {name: whole(value) for name, value in model.state_dict().items()}


def train_sharded(rank: int, size: int) -> list[Any]:
    """In one of the processes: the states, and which parameters weight decay spares."""
    found = []
    for spec in SPECS:
        model = network(spec)
        sync_norms(model)
        mesh = init_device_mesh("cpu", (size,))
        for layer in model.children():
            if any(True for _ in layer.parameters()):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        spared = [name for name, parameter in model.named_parameters() if weight_decay_group(parameter)]
        found.append((train(model, slice(6 * rank, 6 * rank + 6), size), spared))
    return found


@pytest.mark.slow
def test_sharded_layers_take_the_steps_of_one_process_with_the_whole_batch() -> None:
    for spec, *found in zip(SPECS, *run_processes(2, train_sharded), strict=True):
        model = network(spec)
        expected = train(model, slice(None), 1)
        spared = [name for name, parameter in model.named_parameters() if weight_decay_group(parameter)]
        for state, sharded_spared in found:
            torch.testing.assert_close(state, expected, rtol=1e-10, atol=1e-10)
            assert sharded_spared == spared
