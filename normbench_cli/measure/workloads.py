"""What is profiled: so far a layer alone, forward and backward on data of a given shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normbench_cli.device import autocast
from normbench_cli.measure.memory import saved_activation_bytes


@dataclass(frozen=True)
class Workload:
    """Something to be timed."""

    step: Callable[[], object]  # the work itself
    saved_bytes: int  # what its forward pass saves for backward
    model: nn.Module  # the layer or network that it runs


def layer_workload(
    layer: nn.Module,
    shape: tuple[int, ...],
    device: torch.device,
    *,
    dtype: torch.dtype = torch.float32,
    amp: str = "off",
    channels_last: bool = False,
) -> Workload:
    """A layer in training mode, forward and backward, on normally distributed data (N, C, ...)."""
    layer = layer.to(device, dtype).train()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator).to(device, dtype)
    gradient = torch.randn(shape, generator=generator).to(device, dtype)
    if channels_last and len(shape) == 4:
        x, gradient = (t.contiguous(memory_format=torch.channels_last) for t in (x, gradient))
    x.requires_grad_()

    def forward() -> Tensor:
        with autocast(device, amp):
            y: Tensor = layer(x)
        return y

    def step() -> None:
        y = forward()
        # an identity returns its input, and the gradient is then the one that comes in
        torch.autograd.grad(y, [x, *layer.parameters()], gradient.to(y.dtype))

    return Workload(step, saved_activation_bytes(forward, layer), layer)
