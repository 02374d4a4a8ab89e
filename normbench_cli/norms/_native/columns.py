"""The C++ kernels of `columns.cpp`, called with tensors: normalization about the median, forward and backward."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._compile_policy import SEARCHED_MATRIX, reads_without_sync
from normbench_cli.norms._native.library import library

DTYPES = (torch.float32, torch.bfloat16)
ROOT = 1.5  # the phi whose weights are roots


class NativeStep(NamedTuple):
    """What a forward pass finds, (C) each unless noted, as in `passes.Step`."""

    y: Tensor  # columns
    mu: Tensor
    var: Tensor
    scale: Tensor
    offset: Tensor
    mean: Tensor
    floor: Tensor
    error: Tensor  # bounds in standard deviations
    iterations: Tensor
    done: Tensor  # 1, or 0
    solver_totals: Tensor  # (5), this call included
    largest_error: Tensor  # (): of the bounds, in standard errors
    left: int  # how many channels are not done
    passes: float  # of the search over all data


def computes(flat: Tensor) -> bool:
    """Whether the kernels are for such columns; a matter of their shape and dtype alone."""
    if not reads_without_sync(flat) or flat.dtype not in DTYPES or not flat.numel():
        return False
    policy = os.environ.get("NORMBENCH_COMPILE")
    wanted = policy == "always" or (flat.numel() >= SEARCHED_MATRIX and policy != "never")
    return wanted and library() is not None


def forward(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | float,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    *,
    eps: float,
    tol: float,
    above_two: bool,
) -> NativeStep:
    """flat: columns, contiguous; offset, center: (mu - mean) / sd and mu of the batch before."""
    samples, channels, positions = shape_of(flat)
    y, rows, passes = torch.empty_like(flat), [torch.empty(channels) for _ in range(9)], ctypes.c_double()
    totals, largest = torch.empty(5), torch.empty(())
    given = as_floats(weight, bias, exponents(phi, channels), offset, center, solver_totals)
    left = loaded().normbench_forward(
        *(samples, channels, positions, is_half(flat), phi_is_root(phi), above_two),
        *addresses(flat, y, *given),
        *(eps, tol, array_of(rows), *addresses(totals, largest), ctypes.addressof(passes), torch.get_num_threads()),
    )
    mu, var, scale, new_offset, mean, floor, error, iterations, done = rows
    found = mu, var, scale, new_offset, mean, floor, error, iterations, done, totals, largest
    return NativeStep(y, *found, left=left, passes=passes.value)


def backward(
    grad: Tensor,
    flat: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    mu: Tensor,
    scale: Tensor,
    floor: Tensor,
    phi: Tensor | float,
    *,
    above_two: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """dx (columns), dgamma, dbeta, dphi, as of `gradient.backward_pass`."""
    samples, channels, positions = shape_of(flat)
    dx, gradients = torch.empty_like(flat), [torch.empty(channels) for _ in range(3)]
    given = as_floats(weight, exponents(phi, channels), mean, mu, scale, floor)
    learned, dy = isinstance(phi, Tensor), grad.to(flat.dtype).contiguous()
    loaded().normbench_backward(
        *(samples, channels, positions, is_half(flat), phi_is_root(phi), learned, above_two),
        *addresses(dy, flat, dx, *given),
        array_of(gradients),
        torch.get_num_threads(),
    )
    dweight, dbias, dphi = gradients
    return dx, dweight, dbias, dphi


def loaded() -> ctypes.CDLL:
    kernels = library()
    assert kernels is not None
    return kernels


def shape_of(flat: Tensor) -> tuple[int, int, int]:
    return len(flat), flat.shape[1], flat.shape[2] if flat.ndim == 3 else 1


def is_half(flat: Tensor) -> bool:
    return flat.dtype == torch.bfloat16


def phi_is_root(phi: Tensor | float) -> bool:
    return not isinstance(phi, Tensor) and phi == ROOT


def exponents(phi: Tensor | float, channels: int) -> Tensor:
    """phi of each channel."""
    return phi if isinstance(phi, Tensor) else constant(phi, channels)


@lru_cache(maxsize=64)
def constant(phi: float, channels: int) -> Tensor:
    return torch.full((channels,), phi)


def as_floats(*tensors: Tensor | None) -> list[Tensor | None]:
    return [t if t is None or is_plain(t) else t.float().contiguous() for t in tensors]


def is_plain(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.is_contiguous()


def array_of(tensors: Sequence[Tensor | None]) -> Any:
    """Their addresses, as an array in C."""
    return (ctypes.c_void_p * len(tensors))(*addresses(*tensors))


def addresses(*tensors: Tensor | None) -> list[int | None]:
    return [None if t is None else t.data_ptr() for t in tensors]
