"""Sums over each channel that are fast both compiled and uncompiled on a CPU; and moments.

The order of summation is fixed by the shape alone, so equal inputs give equal bits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel
from normbench_cli.norms._compile_policy import reads_without_sync

BLOCK = 4096  # values that inductor sums in registers
CHUNK = 2**17  # values per chunk: it and its temporaries fit into a processor's cache


def channel_sum(flat: Tensor) -> Tensor:
    """The sum over each channel, in two steps.

    In one step inductor sums more than 4096 values through memory, and a tall matrix column by column.
    """
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


def materialize(values: Tensor) -> Tensor:
    """Return the same tensor, but make a compiler store it in memory.

    Otherwise inductor fuses per-channel work into the loop over all elements and repeats it for each.  It does not fuse
    across `as_strided`, which in eager mode is a free view.
    """
    return values.as_strided(values.shape, values.stride())


def chunks(*flats: Tensor) -> list[tuple[Tensor, ...]]:
    """The data in chunks of samples that fit a processor's cache, for eager mode on a CPU; elsewhere in one."""
    rows = max(CHUNK // max(flats[0][:1].numel(), 1), 1)
    if not reads_without_sync(flats[0]) or len(flats[0]) <= rows:
        return [flats]
    return list(zip(*(flat.split(rows) for flat in flats), strict=True))


def sum_chunks(function: Callable[..., tuple[Tensor, ...]], *flats: Tensor) -> tuple[Tensor, ...]:
    """The sums over each channel of what ``function`` returns for the data, computed chunk by chunk."""
    parts = [tuple(channel_sum(t) for t in function(*part)) for part in chunks(*flats)]
    return parts[0] if len(parts) == 1 else tuple(torch.stack(column).sum(0) for column in zip(*parts, strict=True))


def map_chunks(function: Callable[..., Tensor], dtype: torch.dtype, *flats: Tensor) -> Tensor:
    """An elementwise function of the data, converted to ``dtype``, computed chunk by chunk."""
    parts = chunks(*flats)
    if len(parts) == 1:
        return function(*parts[0]).to(dtype)
    out = torch.empty_like(flats[0], dtype=dtype)
    for part in chunks(out, *flats):
        part[0].copy_(function(*part[1:]))
    return out


def sample_of(flat: Tensor) -> Tensor:
    """A sample of the data, all of it if small: a few samples, or a few hundred rows."""
    rows = flat.shape[0]
    if flat.ndim == 3:
        return flat[:: max(rows // 8, 1)]
    return flat[:: rows // 256 if rows >= 4096 else 16 if rows >= 64 else 1]


def sample_mean(values: Tensor) -> Tensor:
    return materialize((values.sum((0, 2)) if values.ndim == 3 else values.sum(0)) / values_per_channel(values))


def moments(flat: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel, in one pass over the data."""
    mean, var = moments_and(lambda _: (), flat, sample_mean(sample_of(flat)))
    return mean, var


def moments_and(function: Callable[[Tensor], tuple[Tensor, ...]], flat: Tensor, pilot: Tensor) -> tuple[Tensor, ...]:
    """Mean and biased variance of each channel and the sums of what ``function`` returns for the differences from the
    pilot (C), in one pass.

    pilot: near enough to the mean for E[d^2] - E[d]^2 to lose no digits, such as the mean of a sample
    """

    def terms(data: Tensor) -> tuple[Tensor, ...]:
        d = data - per_channel(pilot, data)
        return d, d * d, *function(d)

    sum_d, sum_square, *others = sum_chunks(terms, flat)
    offset, square = sum_d / values_per_channel(flat), sum_square / values_per_channel(flat)
    # where squares overflow the variance is infinite, not infinity - infinity
    var = (square - offset * offset).clamp_min(0).nan_to_num(torch.inf, torch.inf)
    return materialize(pilot + offset), materialize(var), *others


def normalize_about(
    data: Tensor, mu: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """y = gamma (x - mu) / sqrt(mean (x - mu)^2 + eps) + beta for data in columns, and the mean square about mu;
    autograd differentiates both, mu included."""
    d = data - per_channel(mu, data)
    var = channel_sum(d * d) / values_per_channel(data)
    scale = (var + eps).rsqrt()
    y = d * per_channel(scale if weight is None else scale * weight, data)
    return (y if bias is None else y + per_channel(bias, data)), var
