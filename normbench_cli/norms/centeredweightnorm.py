"""Centered weight normalization: filters of mean zero and fixed length."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from normbench_cli.norms._weights.filters import centered, filter_axis, norm_of_filters
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import Positive

EPS = 1e-5  # added to the length, as the authors do


class CenteredDirection(nn.Module):
    """w -> scale (w - mean) / (||w - mean|| + eps)."""

    def __init__(self, weight: Tensor, axis: int, scale: float, learn_scale: bool) -> None:
        super().__init__()
        self.axis = axis
        self.scale = scale
        shape = [size if dim == axis else 1 for dim, size in enumerate(weight.shape)]
        start = torch.full(shape, scale, dtype=weight.dtype, device=weight.device)
        self.learned = nn.Parameter(start) if learn_scale else None

    def forward(self, weight: Tensor) -> Tensor:
        direction = centered(weight, self.axis)
        direction = direction / (norm_of_filters(direction, self.axis) + EPS)
        return (direction * (self.scale if self.learned is None else self.learned)).to(weight.dtype)

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight


@NORMS.register("centeredweightnorm", aliases=("cwn",), paper="Huang et al. 2017", placement="weight")
def centeredweightnorm(op: nn.Module, scale: Positive = 1.414, learn_scale: bool = False) -> nn.Module:
    """Centered weight normalization: every filter has mean zero and the same length.

        w = scale (v - mean(v)) / (||v - mean(v)||_2 + 1e-5)        per filter

    As in the authors' code; "New Interpretations of Normalization Methods" prints it without scale (scale=1).  Its
    "WS = sqrt(n) CWN" holds for weight standardization with the biased standard deviation; with the unbiased one of the
    authors' code the factor is sqrt(n - 1) (E18).

    op: the convolution or linear layer; changed in place and returned
    scale: length of every filter; learn_scale: learn the length of each filter, starting from scale
    """
    axis = filter_axis(op)
    register_parametrization(op, "weight", CenteredDirection(cast(Tensor, op.weight), axis, scale, learn_scale))
    return op
