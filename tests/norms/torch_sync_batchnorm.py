"""torch's SyncBatchNorm on a CPU.  It is torch's own function, with its communication; only the five kernels that torch
has for accelerators alone are written here, from their definitions."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules._functions import SyncBatchNorm as SyncBatchNormFunction

from tests.norms.synced_layers import CHANNELS, Result, make_batch, make_layer, make_synced, train_twice


def batch_norm_stats(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    axes = axes_of(x)
    return x.mean(axes), (x.var(axes, correction=0) + eps).rsqrt()


def batch_norm_gather_stats_with_counts(
    x: Tensor,
    means: Tensor,
    invstds: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """means, invstds: a row for each process.  Updates the running statistics."""
    total, share = counts.sum(), (counts / counts.sum()).unsqueeze(1)
    mean = (share * means).sum(0)
    var = (share * (invstds**-2 - eps + (means - mean).square())).sum(0)
    running_mean.lerp_(mean, momentum)
    running_var.lerp_(var * total / (total - 1), momentum)
    return mean, (var + eps).rsqrt()


def batch_norm_elemt(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, invstd: Tensor, eps: float) -> Tensor:
    return (x - wide(mean, x)) * wide(invstd * weight, x) + wide(bias, x)


def batch_norm_backward_reduce(
    grad: Tensor, x: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor, *needed: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    sum_dy = grad.sum(axes_of(x))
    sum_dy_xmu = (grad * (x - wide(mean, x))).sum(axes_of(x))
    return sum_dy, sum_dy_xmu, sum_dy_xmu * invstd, sum_dy


def batch_norm_backward_elemt(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    counts: Any,
) -> Tensor:
    total = counts.sum()
    slope = wide(invstd.square() * sum_dy_xmu / total, x)
    return (grad - wide(sum_dy / total, x) - (x - wide(mean, x)) * slope) * wide(invstd * weight, x)


KERNELS = (
    batch_norm_stats,
    batch_norm_gather_stats_with_counts,
    batch_norm_elemt,
    batch_norm_backward_reduce,
    batch_norm_backward_elemt,
)


def axes_of(x: Tensor) -> list[int]:
    return [dim for dim in range(x.ndim) if dim != 1]


def wide(values: Tensor, x: Tensor) -> Tensor:
    return values.view(-1, *[1] * (x.ndim - 2))


class TorchSyncBatchNorm(nn.SyncBatchNorm):
    """Without the question for the device."""

    def forward(self, x: Tensor) -> Tensor:
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        parameters, buffers = (self.weight, self.bias), (self.running_mean, self.running_var)
        group = dist.group.WORLD
        y: Tensor = SyncBatchNormFunction.apply(
            x, *parameters, *buffers, self.eps, self.momentum, group, dist.get_world_size()
        )
        return y


def train_both(rank: int, size: int, shape: tuple[int, ...], dtype: Any, ends: list[int]) -> tuple[Result, Result]:
    """In one of the processes: torch's layer and ours, with the same weights and rows."""
    for kernel in KERNELS:
        setattr(torch, kernel.__name__, kernel)
    theirs = TorchSyncBatchNorm(CHANNELS).to(dtype)
    theirs.load_state_dict(make_layer("batchnorm", dtype).state_dict(), strict=False)
    taken = slice(ends[rank], ends[rank + 1])
    x, weights = make_batch(shape, dtype)
    ours, torchs = (train_twice(layer, x[taken], weights[taken]) for layer in (make_synced("batchnorm", dtype), theirs))
    return ours, torchs
