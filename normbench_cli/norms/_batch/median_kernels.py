"""`mediannorm` in training: normalization about one value of each channel, which gets the center's whole gradient.

    d = x - mu,   sigma^2 = mean d^2,   xhat = d / sqrt(sigma^2 + eps),   y = gamma xhat + beta
    ds = gamma / sqrt(sigma^2 + eps) (dy - xhat mean(dy xhat)),   dx = ds, and at the center's value ds - sum ds

flat, grad: data in columns (`layout`); everything else has one value per channel.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import (
    detach_view,
    from_columns,
    per_channel,
    to_columns,
    to_columns_like,
    values_per_channel,
    working_dtype,
)
from normbench_cli.norms._batch.reduce import map_chunks, materialize, sum_chunks
from normbench_cli.norms._compile import InductorKernel


def lower_median(flat: Tensor) -> tuple[Tensor, Tensor]:
    """torch's median of each channel, the lower of two middle values, and its index among the channel's values."""
    data = flat.to(working_dtype(flat))
    channels = data.t() if data.ndim == 2 else data.transpose(0, 1).flatten(1)
    mu, place = channels.median(dim=1)
    return mu, place


def forward_pass(
    flat: Tensor, weight: Tensor | None, bias: Tensor | None, mu: Tensor, *, eps: float
) -> tuple[Tensor, ...]:
    """y, sigma^2, 1 / sqrt(sigma^2 + eps) and the mean of d."""
    about, m = per_channel(materialize(mu), flat), values_per_channel(flat)

    def terms(data: Tensor) -> tuple[Tensor, Tensor]:
        d = data.to(mu.dtype) - about
        return d, d * d

    mean, var = (materialize(total / m) for total in sum_chunks(terms, flat))
    scale = materialize((var + eps).rsqrt())
    factor = per_channel(materialize(scale if weight is None else scale * weight), flat)
    shift = None if bias is None else per_channel(bias, flat)

    def scaled(data: Tensor) -> Tensor:
        y = (data.to(mu.dtype) - about) * factor
        return y if shift is None else y + shift

    return map_chunks(scaled, flat.dtype, flat), var, scale, mean


def backward_pass(
    grad: Tensor, flat: Tensor, weight: Tensor | None, mu: Tensor, scale: Tensor, mean: Tensor
) -> tuple[Tensor, ...]:
    """ds (columns), dgamma, dbeta and -sum ds; mean: of d."""
    about, m, dtype = per_channel(materialize(mu), flat), values_per_channel(flat), mu.dtype

    def products(dy: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
        dy = dy.to(dtype)
        return dy, dy * (data.to(dtype) - about)

    sum_dy, sum_dy_d = sum_chunks(products, grad, flat)
    factor = scale if weight is None else scale * weight
    slope = factor * scale.square() * sum_dy_d / m  # of ds in d
    factor_per_channel, slope_per_channel = (per_channel(materialize(t), flat) for t in (factor, slope))

    def ds(dy: Tensor, data: Tensor) -> Tensor:
        return dy.to(dtype) * factor_per_channel - (data.to(dtype) - about) * slope_per_channel

    dmu = slope * mean * m - factor * sum_dy
    return map_chunks(ds, flat.dtype, grad, flat), sum_dy_d * scale, sum_dy, dmu


FORWARD, BACKWARD = InductorKernel(forward_pass), InductorKernel(backward_pass)


class NormalizeAboutLowerMedian(torch.autograd.Function):
    """x, gamma, beta -> y, and (without gradient) mu and sigma^2."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        flat = to_columns(x)
        mu, place = lower_median(flat)
        y, var, scale, mean = FORWARD(flat, weight, bias, mu, eps=eps, dynamic_rows=x.ndim == 2)
        ctx.save_for_backward(flat, weight, mu, place, scale, mean)
        ctx.has_bias = bias is not None
        ctx.mark_non_differentiable(mu, var)
        return detach_view(from_columns(y, x)), mu, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        flat, weight, mu, place, scale, mean = ctx.saved_tensors
        dy = to_columns_like(grad, flat)
        dx, dweight, dbias, dmu = BACKWARD(dy, flat, weight, mu, scale, mean, dynamic_rows=grad.ndim == 2)
        add_at(dx, place, dmu)
        return (
            from_columns(dx, grad),
            None if weight is None else dweight.to(weight.dtype),
            dbias if ctx.has_bias else None,
            None,
        )


def add_at(flat: Tensor, place: Tensor, values: Tensor) -> None:
    """Add, in place, to the one value of each channel at its `place`."""
    channel, values = torch.arange(flat.shape[1], device=flat.device), values.to(flat.dtype)
    if flat.ndim == 2:
        flat.index_put_((place, channel), values, accumulate=True)
    else:
        positions = flat.shape[2]
        row = place.div(positions, rounding_mode="floor")
        flat.index_put_((row, channel, place - row * positions), values, accumulate=True)
