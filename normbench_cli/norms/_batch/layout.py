"""The input of batch norms as columns, one per channel, for any number of dimensions.

"Columns" are a tensor of two or three dimensions, always a view where memory allows one:

    input                              columns                        channel axis
    (N, C)                             (N, C)                         1
    (N, C, ...) contiguous             (N, C, positions)              1
    (N, C, H, W) channels last         (N * positions, C)             1

Both forms have the channels second, so one kernel serves them all, and neither copies the data of an image.
"""

from __future__ import annotations

import torch
from torch import Tensor


def to_columns(x: Tensor) -> Tensor:
    """The input as columns; a copy only where no view exists."""
    if x.ndim < 2:
        raise ValueError(f"a normalization layer takes (N, C) or (N, C, ...), not {tuple(x.shape)}")
    if x.ndim == 2:
        return x.contiguous()
    if x.ndim >= 4 and not x.is_contiguous():
        last = x.permute(0, *range(2, x.ndim), 1)  # quicker than movedim
        if last.is_contiguous():
            return last.view(-1, x.shape[1])
    return x.contiguous().flatten(2)


def to_columns_like(x: Tensor, flat: Tensor) -> Tensor:
    """`x` in the layout of `flat`: a gradient may have a different memory layout than its data."""
    if flat.ndim == 2 and x.ndim > 2:
        return x.movedim(1, -1).reshape(flat.shape)
    return x.contiguous().view(flat.shape)


def from_columns(flat: Tensor, x: Tensor) -> Tensor:
    """The inverse of `to_columns`: `flat` in the shape and memory format of `x`."""
    if flat.ndim == 2 and x.ndim > 2:
        return flat.view(x.shape[0], *x.shape[2:], x.shape[1]).permute(0, -1, *range(1, x.ndim - 1))
    return flat.view(x.shape)


def detach_view(y: Tensor) -> Tensor:
    """The same memory without the view relation.  Autograd forbids in-place changes (``y.relu_()``) of a view that a
    custom function returns; a compiler has no views to detach."""
    return y if torch.compiler.is_compiling() else y.detach()


def per_channel(values: Tensor, flat: Tensor) -> Tensor:
    """One value per channel, shaped to broadcast over columns."""
    return values if flat.ndim == 2 else values.unsqueeze(-1)


def values_per_channel(flat: Tensor) -> int:
    return flat.numel() // flat.shape[1]


def working_dtype(x: Tensor) -> torch.dtype:
    """The dtype of statistics, at least float32: half precision overflows in squares and loses eps."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def memory_format(x: Tensor) -> torch.memory_format:
    """Channels last if the tensor is laid out that way."""
    if x.ndim in (4, 5) and not x.is_contiguous():
        last = torch.channels_last if x.ndim == 4 else torch.channels_last_3d
        if x.is_contiguous(memory_format=last):
            return last
    return torch.contiguous_format
