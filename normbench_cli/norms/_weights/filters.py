"""Filters of an operation's weight: the dimension that indexes them, their lengths, their means."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvTransposeNd

from normbench_cli.operations import Operation


def filter_axis(op: nn.Module) -> int:
    """Return the dimension of the weight that indexes the filters; raise ValueError if there are none."""
    if not isinstance(op, Operation):
        raise ValueError(f"a norm of weights wraps a convolution or a linear layer, not {type(op).__name__}")
    if not isinstance(op, _ConvTransposeNd):
        return 0
    if op.groups != 1:
        raise ValueError("the weight of a grouped transposed convolution has no filter dimension: use groups=1")
    return 1


def norm_of_filters(weight: Tensor, axis: int) -> Tensor:
    """||w||_2 of every filter, in float32 at least: in half precision small guards such as 1e-12 vanish."""
    rest = [dim for dim in range(weight.ndim) if dim != axis]
    lengths: Tensor = torch.linalg.vector_norm(at_least_float32(weight), dim=rest, keepdim=True)
    return lengths


def centered(weight: Tensor, axis: int) -> Tensor:
    """Every filter minus its mean, in float32 at least."""
    rest = [dim for dim in range(weight.ndim) if dim != axis]
    wide = at_least_float32(weight)
    return wide - wide.mean(rest, keepdim=True)


def at_least_float32(weight: Tensor) -> Tensor:
    return weight.to(torch.promote_types(weight.dtype, torch.float32))
