"""POP-Norm's default form, forward and backward: in C++ on a CPU, else as compiled kernels, or by torch's own operators
without a compiler.

    xbar = x - mean + beta,   u = xbar / sqrt(var + beta^2 + eps),   y = gamma / kappa u

flat, grad: data in columns (`layout`); everything else has one value per channel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from normbench_cli.norms._batch.batch_norm_operators import (
    batch_norm_backward,
    batch_norm_statistics,
    has_batch_norm_operators,
)
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
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import is_concrete, should_compile
from normbench_cli.norms._native import columns as native
from normbench_cli.norms._native import standardize


class Constants(NamedTuple):
    kappa: float
    eps: float


def forward_pass(flat: Tensor, weight: Tensor, bias: Tensor, *, constants: Constants) -> tuple[Tensor, ...]:
    """The output, mean and variance of the data, and scale = 1 / sqrt(var + beta^2 + eps)."""
    data = flat.to(working_dtype(flat))
    mean, var = moments(data)
    scale = (var + bias.square() + constants.eps).rsqrt()
    factor = materialize(scale * weight / constants.kappa)
    center, factor = per_channel(materialize(mean - bias), data), per_channel(factor, data)
    return map_chunks(lambda values: (values - center) * factor, flat.dtype, data), mean, var, scale


def backward_pass(
    grad: Tensor, flat: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, *, constants: Constants
) -> tuple[Tensor, ...]:
    """The gradients of x, gamma and beta.  With u = xbar scale and g = gamma scale / kappa:

    dxbar = g (dy - u mean(dy u)),   dx = dxbar - mean(dxbar),   dgamma = sum(dy u) / kappa,   dbeta = sum(dxbar)
    """
    m, dtype = values_per_channel(flat), mean.dtype
    center = per_channel(materialize(mean - bias), flat)

    def products(dy: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
        dy = dy.to(dtype)
        return dy, dy * (data.to(dtype) - center)

    sum_dy, sum_dy_u = sum_chunks(products, grad, flat)
    sum_dy_u = sum_dy_u * scale
    g = scale * weight / constants.kappa
    dbias = g * (sum_dy - sum_dy_u * scale * bias)  # since mean(xbar) = beta
    factor, slope, shift = (per_channel(materialize(t), flat) for t in (g, g * scale * sum_dy_u / m, dbias / m))

    def complete(dy: Tensor, data: Tensor) -> Tensor:
        return dy.to(dtype) * factor - (data.to(dtype) - center) * slope - shift

    return map_chunks(complete, flat.dtype, grad, flat), sum_dy_u / constants.kappa, dbias


FORWARD, BACKWARD = InductorKernel(forward_pass), InductorKernel(backward_pass)


def lean_forward(x: Tensor, weight: Tensor, bias: Tensor, constants: Constants) -> tuple[Tensor, ...]:
    """The same by torch's operators: y is that of a batch norm in evaluation mode with the mean `mean - beta` and the
    variance `var + beta^2`."""
    mean, var = batch_norm_statistics(x)
    center, square = mean - bias, var + bias.square()
    y = F.batch_norm(x, center, square, weight / constants.kappa, None, False, 0.0, constants.eps)
    return y, mean, var, (square + constants.eps).rsqrt()


def lean_backward(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor, constants: Constants
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm's backward assumes that the mean of u is zero; the missing term is a constant per channel."""
    dx, sum_dy_u, sum_dy = batch_norm_backward(grad, x, weight / constants.kappa, mean - bias, scale, constants.eps)
    g, mean_u = scale * weight / constants.kappa, bias * scale
    left_out = g * mean_u * sum_dy_u / (x.numel() // x.shape[1])
    dx.add_(left_out.view(-1, *[1] * (x.ndim - 2)))
    return dx, sum_dy_u / constants.kappa, g * (sum_dy - sum_dy_u * mean_u)


class PopNormFunction(torch.autograd.Function):
    """x, gamma, beta -> y, and (without gradient) the mean and variance of x."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, kappa: float, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        ctx.constants = constants = Constants(kappa, eps)
        ctx.native = native.computes(x)
        if ctx.native:
            x = native.dense(x)
            y, mean, var, scale = standardize.forward(x, weight, bias, kappa=kappa, eps=eps)
            ctx.save_for_backward(x, weight, bias, mean, scale)
            ctx.mark_non_differentiable(mean, var)
            return y, mean, var
        uncompiled = is_concrete(x) and not should_compile(x, dynamic_rows=x.ndim == 2)
        wide = x.dtype == weight.dtype == working_dtype(x)  # torch's operators would compute in half precision
        ctx.lean = uncompiled and wide and has_batch_norm_operators(x.device)
        if ctx.lean:
            y, mean, var, scale = lean_forward(x, weight, bias, constants)
            ctx.save_for_backward(x, weight, bias, mean, scale)
            ctx.mark_non_differentiable(mean, var)
            return y, mean, var
        flat = to_columns(x)
        y, mean, var, scale = FORWARD(flat, weight, bias, constants=constants, dynamic_rows=x.ndim == 2)
        ctx.save_for_backward(flat, weight, bias, mean, scale)
        ctx.mark_non_differentiable(mean, var)
        return detach_view(from_columns(y, x)), mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, scale = ctx.saved_tensors
        if ctx.native:
            kappa, eps = ctx.constants
            return *standardize.backward(grad, x, weight, bias, mean, scale, kappa=kappa, eps=eps), None, None
        if ctx.lean:
            return *lean_backward(grad, x, weight, bias, mean, scale, ctx.constants), None, None
        tensors = to_columns_like(grad, x), x, weight, bias, mean, scale
        dx, dweight, dbias = BACKWARD(*tensors, constants=ctx.constants, dynamic_rows=grad.ndim == 2)
        return from_columns(dx, grad), dweight, dbias, None, None
