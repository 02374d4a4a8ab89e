"""Private parts of torch: two operators of its batch norm, checked once before use."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from normbench_cli import fast_paths
from normbench_cli.device import pick_device


def batch_norm_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel."""
    return cast(tuple[Tensor, Tensor], torch.ops.aten.batch_norm_update_stats(x, None, None, 0.0))


def batch_norm_backward(
    grad: Tensor, x: Tensor, weight: Tensor, mean: Tensor, scale: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of y = weight (x - mean) scale with respect to x, the weight, and a bias."""
    operator = torch.ops.aten.native_batch_norm_backward
    found = operator(grad, x, weight, None, None, mean, scale, True, eps, [True, True, True])
    return cast(tuple[Tensor, Tensor, Tensor], found)


def has_batch_norm_operators(device: torch.device) -> bool:
    """Whether the two functions above are correct on this device."""

    def trial() -> None:
        x = torch.linspace(-1, 2, 24, device=device).square().view(8, 3)
        grad, weight = x.flip(0) - 1, torch.tensor([0.5, 1.0, -2.0], device=device)
        mean, var = x.mean(0), x.var(0, correction=0)
        scale = var.rsqrt()
        u = (x - mean) * scale
        expected_dx = weight * scale * (grad - grad.mean(0) - u * (grad * u).mean(0))
        expected = torch.stack([mean, var, *expected_dx, (grad * u).sum(0), grad.sum(0)])
        dx, *sums = batch_norm_backward(grad, x, weight, mean, scale, 0.0)
        if not torch.allclose(torch.stack([*batch_norm_statistics(x), *dx, *sums]), expected, rtol=1e-4, atol=1e-5):
            raise ValueError("wrong values")

    return fast_paths.passes(f"torch's batch norm operators on {device.type}", trial, "popnorm runs slower")


def try_fast_paths() -> None:
    """Try them on the CPU and on the accelerator if there is one."""
    for device in dict.fromkeys((torch.device("cpu"), pick_device())):
        has_batch_norm_operators(device)
