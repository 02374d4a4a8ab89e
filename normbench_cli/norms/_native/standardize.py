"""The C++ kernels of `standardize.h`, called with tensors: POP-Norm's default form, forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._native.columns import addresses, array_of, as_floats, is_half, like, loaded, shape_of


def forward(
    x: Tensor, weight: Tensor, bias: Tensor, *, kappa: float, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """y, and the mean, variance and scale of each channel."""
    y, mean, var, scale = torch.empty_like(x), *(torch.empty(x.shape[1]) for _ in range(3))
    run(None, x, y, weight, bias, kappa, eps, [mean, var, scale, mean, mean])
    return y, mean, var, scale


def backward(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, *, kappa: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dx, dgamma, dbeta."""
    dx, dweight, dbias = torch.empty_like(x), *(torch.empty(x.shape[1]) for _ in range(2))
    run(like(grad, x), x, dx, weight, bias, kappa, eps, [mean, scale, scale, dweight, dbias])
    return dx, dweight, dbias


def run(
    dy: Tensor | None,
    x: Tensor,
    out: Tensor,
    weight: Tensor,
    bias: Tensor,
    kappa: float,
    eps: float,
    rows: list[Tensor],
) -> None:
    """rows: mean, variance, scale, and the gradients of weight and bias; those that a pass does not use are ignored."""
    given = as_floats(weight, bias)
    loaded().normbench_standardize(
        *shape_of(x),
        is_half(x),
        *addresses(dy, x, out, *given),
        *(kappa, eps, array_of(rows), torch.get_num_threads()),
    )
