"""What the norms of weights and `convert` ask of an operation: which kinds there are, its channels, its filters."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

Operation = _ConvNd | nn.Linear


def inputs(op: nn.Module) -> int:
    return op.in_features if isinstance(op, nn.Linear) else int(op.in_channels)  # type: ignore[arg-type]


def outputs(op: nn.Module) -> int:
    return op.out_features if isinstance(op, nn.Linear) else int(op.out_channels)  # type: ignore[arg-type]


def filter_axis(op: nn.Module) -> int:
    """The dimension of the weight that counts the filters; for anything that has no filters a ValueError."""
    if not isinstance(op, Operation):
        raise ValueError(f"a norm of weights wraps a convolution or a linear layer, not {type(op).__name__}")
    if not isinstance(op, _ConvTransposeNd):
        return 0
    if op.groups != 1:
        raise ValueError("a transposed convolution in groups has no dimension of filters: use groups=1")
    return 1


def norm_of_filters(weight: Tensor, axis: int) -> Tensor:
    """||w||_2 of every filter, at least in float32: in half precision the small guards would vanish."""
    rest = [dim for dim in range(weight.ndim) if dim != axis]
    return torch.linalg.vector_norm(at_least_float32(weight), dim=rest, keepdim=True)


def centred(weight: Tensor, axis: int) -> Tensor:
    """Every filter minus its mean."""
    rest = [dim for dim in range(weight.ndim) if dim != axis]
    wide = at_least_float32(weight)
    return wide - wide.mean(rest, keepdim=True)


def at_least_float32(weight: Tensor) -> Tensor:
    return weight.to(torch.promote_types(weight.dtype, torch.float32))
