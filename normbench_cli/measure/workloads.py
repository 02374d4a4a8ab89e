"""What is profiled: a layer alone at a shape, forward and backward, and the training step of a whole model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normbench_cli.device import autocast
from normbench_cli.measure.memory import saved_activation_bytes


@dataclass(frozen=True)
class Workload:
    """A piece of work to be timed, what its forward pass keeps for backward, and the layer or model itself."""

    step: Callable[[], object]
    saved_bytes: int
    model: nn.Module


def layer_workload(
    layer: nn.Module,
    shape: tuple[int, ...],
    device: torch.device,
    *,
    dtype: torch.dtype = torch.float32,
    amp: str = "off",
    channels_last: bool = False,
) -> Workload:
    """A layer in training mode on normal data of a shape (N, C, ...), forward and backward."""
    layer = layer.to(device, dtype).train()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator).to(device, dtype)
    gradient = torch.randn(shape, generator=generator).to(device, dtype)
    if channels_last and len(shape) == 4:
        x, gradient = (t.contiguous(memory_format=torch.channels_last) for t in (x, gradient))
    x.requires_grad_()

    def forward() -> Tensor:
        with autocast(device, amp):
            return layer(x)

    def step() -> None:
        y = forward()
        # an identity gives the input back, whose gradient is the one that comes in
        torch.autograd.grad(y, [x, *layer.parameters()], gradient.to(y.dtype))

    return Workload(step, saved_activation_bytes(forward, layer), layer)
