"""The C++ kernels of `standardize.h`, called with tensors: POP-Norm's default form, forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._native.columns import addresses, array_of, as_floats, is_half, loaded, shape_of


def forward(
    flat: Tensor, weight: Tensor, bias: Tensor, *, kappa: float, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """y (columns), and the mean, variance and scale of each channel."""
    y, mean, var, scale = torch.empty_like(flat), *(torch.empty(flat.shape[1]) for _ in range(3))
    run(None, flat, y, weight, bias, kappa, eps, [mean, var, scale, mean, mean])
    return y, mean, var, scale


def backward(
    grad: Tensor, flat: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, *, kappa: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dx (columns), dgamma, dbeta."""
    dx, dweight, dbias = torch.empty_like(flat), *(torch.empty(flat.shape[1]) for _ in range(2))
    dy = grad.to(flat.dtype).contiguous()
    run(dy, flat, dx, weight, bias, kappa, eps, [mean, scale, scale, dweight, dbias])
    return dx, dweight, dbias


def run(
    dy: Tensor | None,
    flat: Tensor,
    out: Tensor,
    weight: Tensor,
    bias: Tensor,
    kappa: float,
    eps: float,
    rows: list[Tensor],
) -> None:
    """rows: mean, variance, scale, and the gradients of weight and bias; what a pass does not use may be anything."""
    given = as_floats(weight, bias)
    loaded().normbench_standardize(
        *shape_of(flat),
        is_half(flat),
        *addresses(dy, flat, out, *given),
        *(kappa, eps, array_of(rows), torch.get_num_threads()),
    )
