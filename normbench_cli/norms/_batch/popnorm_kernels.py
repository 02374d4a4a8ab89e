"""POP-Norm's default form, forward and backward: fit for a compiler, and by torch's own kernels without one.

xbar = x - mean + beta,   u = xbar / sqrt(var + beta^2 + eps),   y = gamma / kappa u
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from normbench_cli.norms._batch.layout import (
    detach_view,
    from_columns,
    per_channel,
    to_columns,
    to_columns_like,
    values_per_channel,
    working_dtype,
)
from normbench_cli.norms._batch.reduce import map_chunks, materialize, moments, sum_chunks
from normbench_cli.norms._compile import InductorKernel, is_concrete, worth_compiling


class Sizes(NamedTuple):
    kappa: float
    eps: float


def forward_pass(flat: Tensor, weight: Tensor, bias: Tensor, *, sizes: Sizes) -> tuple[Tensor, ...]:
    data = flat.to(working_dtype(flat))
    mean, var = moments(data)
    scale = (var + bias.square() + sizes.eps).rsqrt()
    factor = materialize(scale * weight / sizes.kappa)
    centre, factor = per_channel(materialize(mean - bias), data), per_channel(factor, data)
    return map_chunks(lambda values: (values - centre) * factor, flat.dtype, data), mean, var, scale


def backward_pass(
    grad: Tensor, flat: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, *, sizes: Sizes
) -> tuple[Tensor, ...]:
    """With u = xbar scale and g = gamma scale / kappa:  dxbar = g (dy - u mean(dy u)),  dx = dxbar - mean(dxbar)."""
    m, dtype = values_per_channel(flat), mean.dtype
    centre = per_channel(materialize(mean - bias), flat)

    def products(dy: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
        dy = dy.to(dtype)
        return dy, dy * (data.to(dtype) - centre)

    sum_dy, along = sum_chunks(products, grad, flat)
    along = along * scale
    g = scale * weight / sizes.kappa
    dbias = g * (sum_dy - along * scale * bias)  # sum of dxbar, since mean(xbar) = beta
    factor, slope, shift = (per_channel(materialize(t), flat) for t in (g, g * scale * along / m, dbias / m))

    def complete(dy: Tensor, data: Tensor) -> Tensor:
        return dy.to(dtype) * factor - (data.to(dtype) - centre) * slope - shift

    return map_chunks(complete, flat.dtype, grad, flat), along / sizes.kappa, dbias


FORWARD, BACKWARD = InductorKernel(forward_pass), InductorKernel(backward_pass)


def lean_forward(x: Tensor, weight: Tensor, bias: Tensor, sizes: Sizes) -> tuple[Tensor, ...]:
    """The same without a compiler, by torch's own kernels of batch normalization: y is that of an evaluation with the
    mean `mean - beta` and the variance `var + beta^2`."""
    mean, var = torch.ops.aten.batch_norm_update_stats(x, None, None, 0.0)
    centre, square = mean - bias, var + bias.square()
    y = F.batch_norm(x, centre, square, weight / sizes.kappa, None, False, 0.0, sizes.eps)
    return y, mean, var, (square + sizes.eps).rsqrt()


def lean_backward(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, sizes: Sizes
) -> tuple[Tensor, Tensor, Tensor]:
    """BatchNorm's own backward takes the mean of u to be zero; what that leaves out is a constant a channel."""
    dx, along, sum_dy = torch.ops.aten.native_batch_norm_backward(
        grad, x, weight / sizes.kappa, None, None, mean - bias, scale, True, sizes.eps, [True, True, True]
    )
    g, u = scale * weight / sizes.kappa, bias * scale
    constant = g * u * along / (x.numel() // x.shape[1])
    dx.add_(constant.view(-1, *[1] * (x.ndim - 2)))
    return dx, along / sizes.kappa, g * (sum_dy - along * u)


class PopNormFunction(torch.autograd.Function):
    """The default form, in two functions fit for a compiler: x, gamma, beta -> y, and mean and variance of x."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, kappa: float, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        ctx.sizes = sizes = Sizes(kappa, eps)
        ctx.lean = is_concrete(x) and x.dtype == weight.dtype and not worth_compiling(x, dynamic_rows=x.ndim == 2)
        if ctx.lean:
            y, mean, var, scale = lean_forward(x, weight, bias, sizes)
            ctx.save_for_backward(x, weight, bias, mean, scale)
            ctx.mark_non_differentiable(mean, var)
            return y, mean, var
        flat = to_columns(x)
        y, mean, var, scale = FORWARD(flat, weight, bias, sizes=sizes, dynamic_rows=x.ndim == 2)
        ctx.save_for_backward(flat, weight, bias, mean, scale)
        ctx.mark_non_differentiable(mean, var)
        return detach_view(from_columns(y, x)), mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        flat, weight, bias, mean, scale = ctx.saved_tensors
        if ctx.lean:
            return *lean_backward(grad, flat, weight, bias, mean, scale, ctx.sizes), None, None
        dx, dweight, dbias = BACKWARD(
            to_columns_like(grad, flat), flat, weight, bias, mean, scale, sizes=ctx.sizes, dynamic_rows=grad.ndim == 2
        )
        return from_columns(dx, grad), dweight, dbias, None, None
