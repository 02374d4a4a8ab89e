"""The C++ kernels of `columns.cpp`, called with tensors: normalization about the median, forward and backward.

For a small layer, the call takes as long as the computation.  So the kernels read tensors in their own memory layout,
without views, and write the statistics of all channels into two tensors.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor

from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._native.library import library

DTYPES = (torch.float32, torch.bfloat16)
ROOT = 1.5  # the phi whose weights are reciprocal square roots
FEWEST = 2**10  # elements; so that trying a layer on a handful of numbers does not wait for a compiler


class NativeStep(NamedTuple):
    """Results of a forward pass."""

    y: Tensor  # as x
    fit: Tensor  # (6, C): mu, var, scale, offset, mean, floor, as in `kernels.Fit`
    search: Tensor  # (3, C): error bounds in standard deviations, passes, and 1 where done
    left: int  # number of channels not done
    passes: float  # search passes over all data


def computes(x: Tensor) -> bool:
    """Whether the kernels support such a tensor; depends on its shape and dtype alone."""
    if not reads_without_sync(x) or x.dtype not in DTYPES or not x.numel():
        return False
    policy = os.environ.get("NORMBENCH_COMPILE")
    wanted = policy == "always" or (x.numel() >= FEWEST and policy != "never")
    return wanted and library() is not None


def forward(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | float,
    buffers: Sequence[Tensor],
    *,
    eps: float,
    tol: float,
    above_two: bool,
) -> NativeStep:
    """x: dense; buffers: start, center, solver_totals and largest_error, updated if no channel is left."""
    samples, channels, positions = shape_of(x)
    y, fit, search = torch.empty_like(x), torch.empty(6, channels), torch.empty(3, channels)
    passes = ctypes.c_double()
    given, updated = as_floats(weight, bias, exponents(phi, channels)), as_floats(*buffers)
    left = loaded().normbench_forward(
        *(samples, channels, positions, is_half(x), phi_is_root(phi), above_two),
        *addresses(x, y, *given, *updated),
        *(eps, tol, *addresses(fit, search), ctypes.addressof(passes), torch.get_num_threads()),
    )
    for buffer, value in zip(buffers, updated, strict=True):
        if buffer is not value:
            buffer.copy_(value)
    return NativeStep(y, fit, search, left, passes.value)


def backward(
    grad: Tensor, x: Tensor, weight: Tensor | None, fit: Tensor, phi: Tensor | float, *, above_two: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """dx, dgamma, dbeta, and dphi if phi is learned; x, fit: from the forward pass."""
    samples, channels, positions = shape_of(x)
    learned, dy = isinstance(phi, Tensor), like(grad, x)
    dx, dweight, dbias = torch.empty_like(x), torch.empty(channels), torch.empty(channels)
    dphi = torch.empty(channels) if learned else None
    given = as_floats(weight, exponents(phi, channels))
    loaded().normbench_backward(
        *(samples, channels, positions, is_half(x), phi_is_root(phi), learned, above_two),
        *addresses(dy, x, dx, *given, fit, dweight, dbias, dphi),
        torch.get_num_threads(),
    )
    return dx, dweight, dbias, dphi


def dense(x: Tensor) -> Tensor:
    """x, or a contiguous copy if the kernels cannot read its memory layout."""
    return x if x.is_contiguous() or channels_are_last(x) else x.contiguous()


def channels_are_last(x: Tensor) -> bool:
    if x.ndim == 4:
        return x.is_contiguous(memory_format=torch.channels_last)
    return x.ndim == 5 and x.is_contiguous(memory_format=torch.channels_last_3d)


def like(grad: Tensor, x: Tensor) -> Tensor:
    """grad in the dtype and memory format of x."""
    if grad.dtype == x.dtype and grad.stride() == x.stride():
        return grad
    return torch.empty_like(x).copy_(grad)


def loaded() -> ctypes.CDLL:
    kernels = library()
    assert kernels is not None
    return kernels


def shape_of(x: Tensor) -> tuple[int, int, int]:
    """Samples, channels, positions, in the kernels' sense."""
    samples, channels, *others = x.shape
    positions = math.prod(others)
    return (samples, channels, positions) if x.is_contiguous() else (samples * positions, channels, 1)


def is_half(x: Tensor) -> bool:
    return x.dtype == torch.bfloat16


def phi_is_root(phi: Tensor | float) -> bool:
    return not isinstance(phi, Tensor) and phi == ROOT


def exponents(phi: Tensor | float, channels: int) -> Tensor:
    """phi of each channel."""
    return phi if isinstance(phi, Tensor) else constant(phi, channels)


@lru_cache(maxsize=64)
def constant(phi: float, channels: int) -> Tensor:
    return torch.full((channels,), phi)


@overload
def as_floats(*tensors: Tensor) -> list[Tensor]: ...
@overload
def as_floats(*tensors: Tensor | None) -> list[Tensor | None]: ...
def as_floats(*tensors: Tensor | None) -> Sequence[Tensor | None]:
    """The tensors as contiguous float32; unchanged if they already are."""
    return [t if t is None or is_plain(t) else t.float().contiguous() for t in tensors]


def is_plain(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.is_contiguous()


def array_of(tensors: Sequence[Tensor | None]) -> Any:
    """The tensors' addresses, as a C array."""
    return (ctypes.c_void_p * len(tensors))(*addresses(*tensors))


def addresses(*tensors: Tensor | None) -> list[int | None]:
    return [None if t is None else t.data_ptr() for t in tensors]
