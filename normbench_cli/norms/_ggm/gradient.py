"""Normalization about the generalized geometric median: the backward pass, as a function that a compiler can fuse.

With d = x - mu, xhat = d / sqrt(sigma^2 + eps) and w = max(|d|, floor)^(phi-2), where the floor is that of the search,
so that both use the same weights:

    ds   = gamma / sqrt(sigma^2 + eps) (dy - xhat mean(dy xhat))
    dmu  = -sum ds
    dx   = ds + dmu w / sum w
    dphi = dmu sum d w ln|d| / ((phi-1) sum w)

`flat` and `grad` are columns: (values, C) or (N, C, values); all other tensors are (C).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel
from normbench_cli.norms._batch.reduce import map_chunks, materialize, sum_chunks
from normbench_cli.norms._ggm.certified import quick_weights
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
    """dx (columns), dgamma, dbeta, dphi.  Two passes over the data and grad, one for the sums and one for dx; if phi
    may be above 2, a third over the data for the unit of distances."""
    m, dtype = values_per_channel(flat), mu.dtype
    mu_per_channel, scale_per_channel = per_channel(mu, flat), per_channel(scale, flat)
    weigh = None if options.phi == 2.0 else weight_function(flat, mu, floor, phi, options)

    def sums_over(dy: Tensor, data: Tensor) -> tuple[Tensor, ...]:
        dy, d = dy.to(dtype), data.to(dtype) - mu_per_channel
        products = dy, dy * (d * scale_per_channel)
        if weigh is None:
            return products
        w, logarithm = weigh(d)
        return (*products, w) if logarithm is None else (*products, w, d * w * logarithm)

    sum_dy, sum_dy_xhat, *sums_of_weights = sum_chunks(sums_over, grad, flat)
    factor = scale if weight is None else scale * weight
    dmu = factor * (sum_dy_xhat * ((mean - mu) * scale) - sum_dy)
    dphi = torch.zeros_like(mu)
    factor_per_channel, mean_dy_xhat = (per_channel(materialize(t), flat) for t in (factor, sum_dy_xhat / m))

    def ds(dy: Tensor, d: Tensor) -> Tensor:
        return factor_per_channel * (dy.to(dtype) - d * scale_per_channel * mean_dy_xhat)

    if weigh is None:
        shift = per_channel(materialize(dmu / m), flat)
        dx = map_chunks(lambda dy, data: ds(dy, data.to(dtype) - mu_per_channel) + shift, flat.dtype, grad, flat)
        return dx, sum_dy_xhat, sum_dy, dphi

    dmu_per_weight = materialize(dmu / sums_of_weights[0])
    pull = per_channel(dmu_per_weight, flat)

    def ds_plus_dmu(dy: Tensor, data: Tensor) -> Tensor:
        d = data.to(dtype) - mu_per_channel
        return ds(dy, d) + weigh(d)[0] * pull

    if phi is not None:
        dphi = dmu_per_weight * sums_of_weights[1] / (phi - 1)
    return map_chunks(ds_plus_dmu, flat.dtype, grad, flat), sum_dy_xhat, sum_dy, dphi


def weight_function(
    flat: Tensor, mu: Tensor, floor: Tensor, phi: Tensor | None, options: SolverOptions
) -> Callable[[Tensor], tuple[Tensor, Tensor | None]]:
    """Return w and, if phi is learned, ln |d| as a function of d, up to units that cancel in the gradient."""
    if options.above_two:
        farthest = (flat.to(mu.dtype) - per_channel(mu, flat)).abs().amax((0, 2) if flat.ndim == 3 else 0)
        unit = torch.maximum(farthest, floor)
    else:
        unit = floor / ACCURACY[mu.dtype].floor
    power = options.phi if phi is None else per_channel(phi, flat)
    assert power is not None
    floor_per_channel, exact = per_channel(floor, flat), options.tol is None
    unit = per_channel(materialize(unit if exact else unit.reciprocal()), flat)

    def weigh(d: Tensor) -> tuple[Tensor, Tensor | None]:
        distance = torch.maximum(d.abs(), floor_per_channel)
        w = weights(distance, power, unit) if exact else quick_weights(distance, power, unit)
        return w, None if phi is None else (distance / unit if exact else distance * unit).log()

    return weigh
