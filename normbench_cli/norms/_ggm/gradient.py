"""Normalization about the generalized geometric median: the backward pass, as a function that a compiler can fuse.

With d = x - mu, xhat = d / sqrt(sigma^2 + eps) and w = max(|d|, floor)^(phi-2), where the floor is that of the search,
so that both see the same weights:

    ds   = gamma / sqrt(sigma^2 + eps) (dy - xhat mean(dy xhat))
    dmu  = -sum ds
    dx   = ds + dmu w / sum w
    dphi = dmu sum d w ln|d| / ((phi-1) sum w)

`flat` and `grad` are columns: (values, C) or (N, C, values); all other tensors are (C).
"""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel
from normbench_cli.norms._batch.reduce import map_chunks, materialize, sum_chunks
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.solver import ACCURACY, weights


def backward_pass(
    grad: Tensor,
    flat: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    mu: Tensor,
    scale: Tensor,
    floor: Tensor,
    phi: Tensor | None,
    *,
    options: SolverOptions,
) -> tuple[Tensor, ...]:
    """dx (columns), dgamma, dbeta, dphi.  Passes over the data and grad: one for the sums of dy and dy xhat, one over
    the data alone for sum w, one for dx; for phi = 2, where w = 1, without the second."""
    m, dtype = values_per_channel(flat), mu.dtype
    mu_per_channel, scale_per_channel = per_channel(mu, flat), per_channel(scale, flat)

    def products(dy: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
        dy = dy.to(dtype)
        return dy, dy * ((data.to(dtype) - mu_per_channel) * scale_per_channel)

    sum_dy, sum_dy_xhat = sum_chunks(products, grad, flat)
    factor = scale if weight is None else scale * weight
    dmu = factor * (sum_dy_xhat * ((mean - mu) * scale) - sum_dy)
    dphi = torch.zeros_like(mu)
    factor_per_channel, mean_dy_xhat = (per_channel(materialize(t), flat) for t in (factor, sum_dy_xhat / m))

    def ds(dy: Tensor, d: Tensor) -> Tensor:
        return factor_per_channel * (dy.to(dtype) - d * scale_per_channel * mean_dy_xhat)

    if options.phi == 2.0:
        shift = per_channel(materialize(dmu / m), flat)
        dx = map_chunks(lambda dy, data: ds(dy, data.to(dtype) - mu_per_channel) + shift, flat.dtype, grad, flat)
        return dx, sum_dy_xhat, sum_dy, dphi

    if options.above_two:
        farthest = (flat.to(dtype) - mu_per_channel).abs().amax((0, 2) if flat.ndim == 3 else 0)
        unit = per_channel(materialize(torch.maximum(farthest, floor)), flat)
    else:
        unit = per_channel(materialize(floor / ACCURACY[dtype].floor), flat)
    power = options.phi if phi is None else per_channel(phi, flat)
    assert power is not None
    floor_per_channel = per_channel(floor, flat)

    def weight_terms(data: Tensor) -> tuple[Tensor, ...]:
        d = data.to(dtype) - mu_per_channel
        distance = torch.maximum(d.abs(), floor_per_channel)
        w = weights(distance, power, unit)
        return (w,) if phi is None else (w, d * w * (distance / unit).log())

    sum_w, *sum_dwlogd = sum_chunks(weight_terms, flat)
    dmu_per_weight = materialize(dmu / sum_w)
    pull = per_channel(dmu_per_weight, flat)

    def ds_plus_dmu(dy: Tensor, data: Tensor) -> Tensor:
        d = data.to(dtype) - mu_per_channel
        return ds(dy, d) + weights(torch.maximum(d.abs(), floor_per_channel), power, unit) * pull

    if phi is not None:
        dphi = dmu_per_weight * sum_dwlogd[0] / (phi - 1)
    return map_chunks(ds_plus_dmu, flat.dtype, grad, flat), sum_dy_xhat, sum_dy, dphi
