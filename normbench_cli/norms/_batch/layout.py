"""What normalization over the batch shares: channels as columns, sums over a channel, moments."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from normbench_cli.norms._compile import may_look

BLOCK = 4096  # values that are added up in registers
PIECE = 2**17  # values that are worked on at a time


def fitting_groups(groups: int, channels: int) -> int:
    """The largest number of groups, at most so many, that divides the channels."""
    if groups < 1:
        raise ValueError(f"groups = {groups}: at least one group is needed")
    return max(count for count in range(1, min(groups, channels) + 1) if channels % count == 0)


def columns(x: Tensor) -> Tensor:
    """A view (copy only where there is no view) as (values, channels), or (batch, channels, values) if that is how
    it lies in memory."""
    if x.ndim < 2:
        raise ValueError(f"a normalization layer takes (N, C) or (N, C, ...), not {tuple(x.shape)}")
    if x.ndim == 2:
        return x.contiguous()
    if x.ndim >= 4 and not x.is_contiguous():
        last = x.movedim(1, -1)
        if last.is_contiguous():
            return last.reshape(-1, x.shape[1])
    return x.contiguous().flatten(2)


def columns_as(x: Tensor, flat: Tensor) -> Tensor:
    """The same arrangement as ``flat`` has, for a gradient that may lie in memory differently."""
    if flat.ndim == 2 and x.ndim > 2:
        return x.movedim(1, -1).reshape(flat.shape)
    return x.contiguous().view(flat.shape)


def like(flat: Tensor, x: Tensor) -> Tensor:
    """The way back from `columns`."""
    if flat.ndim == 2 and x.ndim > 2:
        return flat.view(x.shape[0], *x.shape[2:], x.shape[1]).movedim(-1, 1)
    return flat.view(x.shape)


def owned(y: Tensor) -> Tensor:
    """The same memory, no longer a view: what a custom function returns may then be changed in place (x.relu_())."""
    return y if torch.compiler.is_compiling() else y.data


def per_channel(values: Tensor, flat: Tensor) -> Tensor:
    return values if flat.ndim == 2 else values.unsqueeze(-1)


def total(flat: Tensor) -> Tensor:
    """Sum over each channel, in blocks that a compiler can keep in registers: beyond 4096 values it adds through
    memory, and a tall matrix it would walk column by column."""
    if flat.ndim == 3:
        n, channels, positions = flat.shape
        for samples in (64, 32, 16, 8, 4, 2):
            if n % samples == 0 and n > samples and samples * positions <= BLOCK:
                return flat.view(-1, samples, channels, positions).sum((1, 3)).sum(0)
        return flat.sum((0, 2))
    for rows in (64, 32, 16):
        if flat.shape[0] % rows == 0 and flat.shape[0] > rows:
            return flat.view(-1, rows, flat.shape[1]).sum(1).sum(0)
    return flat.sum(0)


def settle(values: Tensor) -> Tensor:
    """The same tensor, but a compiler stores it here: left to itself it repeats per-channel work for every element."""
    return values.as_strided(values.shape, values.stride())


def working_dtype(x: Tensor) -> torch.dtype:
    """Statistics are in float32 at least; half precision overflows and swallows eps."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def count(flat: Tensor) -> int:
    return flat.numel() // flat.shape[1]


def pieces(*flats: Tensor) -> list[tuple[Tensor, ...]]:
    """The data in runs of samples that fit a processor's cache, temporaries included: for eager work on a CPU.  A
    compiler and an accelerator get the whole."""
    rows = max(PIECE // max(flats[0][:1].numel(), 1), 1)
    if not may_look(flats[0]) or len(flats[0]) <= rows:
        return [flats]
    return list(zip(*(flat.split(rows) for flat in flats), strict=True))


def sums_of(function: Callable[..., tuple[Tensor, ...]], *flats: Tensor) -> tuple[Tensor, ...]:
    """Per-channel totals of what ``function`` makes of the data."""
    parts = [tuple(total(t) for t in function(*part)) for part in pieces(*flats)]
    return parts[0] if len(parts) == 1 else tuple(torch.stack(column).sum(0) for column in zip(*parts, strict=True))


def map_data(function: Callable[..., Tensor], dtype: torch.dtype, *flats: Tensor) -> Tensor:
    """An elementwise function of the data, as ``dtype``."""
    parts = pieces(*flats)
    if len(parts) == 1:
        return function(*parts[0]).to(dtype)
    out = torch.empty_like(flats[0], dtype=dtype)
    for part in pieces(out, *flats):
        part[0].copy_(function(*part[1:]))
    return out


def moments(flat: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel in one pass, about the mean of a sixteenth of the data: differences
    from a point that near lose no digits."""
    stride = 16 if flat.shape[0] >= 64 else 1
    sample = flat[::stride]
    pilot = settle((sample.sum((0, 2)) if sample.ndim == 3 else sample.sum(0)) / count(sample))

    def about_pilot(data: Tensor) -> tuple[Tensor, Tensor]:
        d = data - per_channel(pilot, data)
        return d, d * d

    offset, square = (t / count(flat) for t in sums_of(about_pilot, flat))
    # where squares overflow the variance is infinite, not infinity - infinity
    var = (square - offset * offset).clamp_min(0).nan_to_num(torch.inf, torch.inf)
    return settle(pilot + offset), settle(var)


def normalize_about(
    data: Tensor, mu: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """(x - mu) / sqrt(mean (x - mu)^2 + eps) gamma + beta for data in columns, differentiable throughout; and the
    mean square."""
    d = data - per_channel(mu, data)
    var = total(d * d) / count(data)
    scale = (var + eps).rsqrt()
    y = d * per_channel(scale if weight is None else scale * weight, data)
    return (y if bias is None else y + per_channel(bias, data)), var
