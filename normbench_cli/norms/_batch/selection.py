"""Order statistics over all processes: the k-th smallest value of each channel, exactly, whichever process has it.

Floating point numbers are mapped to integers of the same order, and four bits of the answer are found at a time: each
process counts its values below fifteen candidates, and the counts are added.  So float32 takes 8 all-reduces of 15
counts per channel, float64 16; no data is sent.

data: columns (`layout`), this process's part.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import per_channel, values_per_channel
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.synced import axes_of_channel, range_of

DIGITS = 4  # bits found per all-reduce
INTEGERS = {torch.float32: torch.int32, torch.float64: torch.int64}


def ordered_integers(integers: Tensor) -> Tensor:
    """Map the bits of floating point numbers to integers of the same order, and back."""
    limits = torch.iinfo(integers.dtype)
    return integers ^ ((integers >> (limits.bits - 1)) & limits.max)


def select(data: Tensor, index: Tensor, processes: Processes) -> Tensor:
    """Return the values (K, C) at these indices (K,), from 0, in the sorted values of each channel."""
    channels = data.t() if data.ndim == 2 else data.transpose(0, 1).flatten(1)
    values = ordered_integers(channels.contiguous().view(INTEGERS[data.dtype])).sort(dim=1).values
    limits = torch.iinfo(values.dtype)
    low = values.new_full((len(index), len(values)), limits.min)
    for shift in range(limits.bits - DIGITS, -1, -DIGITS):
        candidates = low.unsqueeze(2) + (torch.arange(1, 2**DIGITS, device=low.device, dtype=low.dtype) << shift)
        below = torch.searchsorted(values, candidates.transpose(0, 1).flatten(1).contiguous())
        below = processes.add(below).view(len(values), len(index), -1).transpose(0, 1)
        low = low + ((below <= index.view(-1, 1, 1)).sum(2, dtype=low.dtype) << shift)
    return ordered_integers(low).view(data.dtype)


def lower_median(data: Tensor, processes: Processes) -> Tensor:
    """torch's median, the lower of two middle values; one value gets the whole gradient: of equal ones the first, in
    the order of the processes."""
    index = (number_of_values(data, processes) - 1) // 2
    mu: Tensor = _OneValue.apply(data, select(data.detach(), index, processes)[0], processes)  # type: ignore[no-untyped-call]
    return mu


def middle(data: Tensor, processes: Processes) -> Tensor:
    """The mid-point of the two middle values; ties share the gradient."""
    count = number_of_values(data, processes)
    low, high = select(data.detach(), torch.cat([(count - 1) // 2, count // 2]), processes)
    mu: Tensor = _MidPoint.apply(data, low, high, processes)  # type: ignore[no-untyped-call]
    return mu


def mid_range(data: Tensor, processes: Processes) -> Tensor:
    """The mid-point of the smallest and the largest value; ties share the gradient.  One all-gather."""
    low, high = processes.gather(torch.stack(range_of(data.detach()))).unbind(1)
    mu: Tensor = _MidPoint.apply(data, low.amin(0), high.amax(0), processes)  # type: ignore[no-untyped-call]
    return mu


def number_of_values(data: Tensor, processes: Processes) -> Tensor:
    """Values per channel over all processes: (1,)."""
    return processes.add(torch.tensor([values_per_channel(data)], device=data.device))


class _MidPoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, low: Tensor, high: Tensor, processes: Processes) -> Tensor:
        ctx.save_for_backward(data, low, high)
        ctx.processes = processes
        return torch.where(low == high, low, low / 2 + high / 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        data, low, high = ctx.saved_tensors
        at_low, at_high = ((data == per_channel(end, data)).to(data.dtype) for end in (low, high))
        axes = axes_of_channel(data)
        total, lows, highs = ctx.processes.add(torch.stack([grad, at_low.sum(axes), at_high.sum(axes)])).unbind()
        half_of_low, half_of_high = (per_channel(total / 2 / equal, data) for equal in (lows, highs))
        return at_low * half_of_low + at_high * half_of_high, None, None, None


class _OneValue(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, mu: Tensor, processes: Processes) -> Tensor:
        ctx.save_for_backward(data, mu)
        ctx.processes = processes
        return mu.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        data, mu = ctx.saved_tensors
        channels = data.transpose(0, 1).flatten(1)
        at_mu = channels == mu.unsqueeze(1)
        first = at_mu & (at_mu.cumsum(1) == 1)
        grads, has = ctx.processes.gather(torch.stack([grad, at_mu.any(1).to(grad.dtype)])).unbind(1)
        owns = (has.cumsum(0)[ctx.processes.rank] == 1) & (has[ctx.processes.rank] > 0)
        to_first = first * (grads.sum(0) * owns).unsqueeze(1)
        return to_first.view(data.transpose(0, 1).shape).transpose(0, 1), None, None
