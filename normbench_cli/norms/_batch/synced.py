"""Differentiable means, extremes and normalization over the processes of data-parallel training.

data: columns (`layout`) in working precision, this process's part of the batch; all else has one value per channel.
The gradient of x is that of the losses of all processes.  The gradient of a parameter is that of this process's losses:
DistributedDataParallel adds those of the others.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import (
    detach_view,
    from_columns,
    per_channel,
    to_columns_like,
    values_per_channel,
)
from normbench_cli.norms._batch.processes import Processes


def axes_of_channel(data: Tensor) -> tuple[int, ...]:
    """The dimensions that one channel of data in columns extends over."""
    return (0,) if data.ndim == 2 else (0, 2)


def mean_over(processes: Processes, *terms: Tensor) -> tuple[Tensor, ...]:
    """The per-channel mean of each of the terms (columns), followed by the number of values; one all-reduce.

    Sums are in float64, so that the mean of equal values is that value, and rounds the same however the values are
    split.
    """
    dtype = terms[0].dtype
    sums = [term.sum(axes_of_channel(term), dtype=torch.float64) for term in terms]
    count = sums[0].new_full((1,), values_per_channel(terms[0]))
    *totals, count = processes.sum(torch.cat([*sums, count])).split([*map(len, sums), 1])
    return *((total / count).to(dtype) for total in totals), count.detach().to(dtype)


def normalize_about(
    data: Tensor, mu: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, processes: Processes
) -> tuple[Tensor, Tensor, Tensor]:
    """y = gamma (x - mu) / sqrt(mean (x - mu)^2 + eps) + beta, the mean square and the number of values; one
    all-reduce."""
    d = data - per_channel(mu, data)
    var, count = mean_over(processes, d * d)
    scale = (var + eps).rsqrt()
    y = d * per_channel(scale if weight is None else scale * weight, data)
    return (y if bias is None else y + per_channel(bias, data)), var, count


def shaped_like(x: Tensor, y: Tensor) -> Tensor:
    """Columns in the shape, memory format and dtype of x; not a view, which FSDP2 and in-place activations need."""
    found: Tensor = _Shaped.apply(y, x)  # type: ignore[no-untyped-call]
    return found


class _Shaped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, x: Tensor) -> Tensor:
        ctx.like = y.new_empty(()).expand(y.shape)
        return detach_view(from_columns(y.to(x.dtype), x))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return to_columns_like(grad, ctx.like).to(ctx.like.dtype), None


def range_of(data: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and the largest value of each channel of this process; infinity and -infinity if there are none."""
    if not data.numel():
        nothing = data.new_full((data.shape[1],), torch.inf)
        return nothing, -nothing
    return data.amin(axes_of_channel(data)), data.amax(axes_of_channel(data))


def largest_over(processes: Processes, size: Tensor, square: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of sizes (columns) over all processes, and the sum of squares (C) without gradient: one all-gather.
    Ties share the gradient."""
    largest, total = _Largest.apply(size, square, processes)  # type: ignore[no-untyped-call]
    return largest, total


class _Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, size: Tensor, square: Tensor, processes: Processes) -> tuple[Tensor, Tensor]:
        _, own = range_of(size)
        equal = (size == per_channel(own, size)).to(size.dtype).sum(axes_of_channel(size))
        squares, tops, counts = processes.gather(torch.stack([square, own, equal])).unbind(1)
        largest, total = tops.amax(0), squares.sum(0)
        ctx.save_for_backward(size, largest, torch.where(tops == largest, counts, 0.0).sum(0))
        ctx.processes = processes
        ctx.mark_non_differentiable(total)
        return largest, total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        size, largest, equal = ctx.saved_tensors
        share = per_channel(ctx.processes.add(grad) / equal, size)
        return (size == per_channel(largest, size)) * share, None, None
