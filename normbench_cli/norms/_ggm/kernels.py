"""Normalization about the generalized geometric median, forward and backward as functions fit for a compiler.

    d = x - mu,   sigma^2 = mean d^2 = var(x) + (mean(x) - mu)^2
    xhat = d / sqrt(sigma^2 + eps),   y = gamma xhat + beta

Backward, with w = max(|d|, floor)^(phi-2) (the floor of the search, so that both see the same weights):

    ds   = gamma / sqrt(sigma^2+eps) (dy - xhat mean(dy xhat))
    dmu  = -sum ds
    dx   = ds + dmu w / sum w
    dphi = dmu sum d w ln|d| / ((phi-1) sum w)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel, working_dtype
from normbench_cli.norms._batch.reduce import map_chunks, materialize, moments, sum_chunks
from normbench_cli.norms._compile import reads_without_sync
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    TINY,
    State,
    begin,
    data_sums,
    newton,
    search,
    weights,
)


class Plan(NamedTuple):
    """The constants of a layer's normalization."""

    phi: float | None  # None: a tensor, one value a channel
    eps: float
    rounds: int  # steps before the first look
    plain: bool = False  # the papers' iteration instead of the safe search
    above_two: bool = False  # phi may be above 2: then the median need not lie within one sd of the mean


class Problem(NamedTuple):
    """A channel's data as the search sees them."""

    mean: Tensor
    var: Tensor  # about the mean
    spread: Tensor
    floor: Tensor
    unit: Tensor
    low: Tensor
    high: Tensor


class Fit(NamedTuple):
    """What a training step found out, per channel."""

    mu: Tensor
    var: Tensor  # sigma^2, about mu
    scale: Tensor  # 1 / sqrt(sigma^2 + eps)
    offset: Tensor  # (mu - mean) / sd: where the next search starts
    mean: Tensor
    floor: Tensor


def pose(data: Tensor, plan: Plan) -> Problem:
    mean, var = moments(data)
    spread = materialize(var.sqrt())
    floor = materialize((spread * ACCURACY[data.dtype].floor).clamp_min(TINY))
    if plan.above_two:
        axes = (0, 2) if data.ndim == 3 else 0
        low, high = materialize(data.amin(axes)), materialize(data.amax(axes))
        return Problem(mean, var, spread, floor, materialize((high - low).clamp_min(TINY)), low, high)
    # |mu - mean| <= mean|x - mu| <= (mean|x - mu|^phi)^(1/phi) <= (mean|x - mean|^phi)^(1/phi) <= sd for phi <= 2
    reach = spread * 1.001 + mean.abs() * ACCURACY[data.dtype].rounding
    return Problem(mean, var, spread, floor, spread.clamp_min(TINY), mean - reach, mean + reach)


def finish(problem: Problem, mu: Tensor, eps: float) -> Fit:
    mean, spread = problem.mean, problem.spread
    var = problem.var + (mean - mu).square()
    offset = ((mu - mean) / spread).nan_to_num(0.0, 0.0, 0.0)
    return Fit(mu, var, (var + eps).rsqrt(), offset, mean, problem.floor)


def apply(flat: Tensor, mu: Tensor, scale: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    factor = per_channel(materialize(scale if weight is None else scale * weight), flat)
    middle, shift = per_channel(mu, flat), None if bias is None else per_channel(bias, flat)

    def scaled(data: Tensor) -> Tensor:
        y = (data.to(mu.dtype) - middle) * factor
        return y if shift is None else y + shift

    return map_chunks(scaled, flat.dtype, flat)


def record_of(record: Tensor, state: State) -> Tensor:
    """Calls, sum of mean iterations, most iterations, sum of unconverged shares, largest error bound."""
    dtype = record.dtype
    error = state.error.to(dtype).nan_to_num(torch.inf)
    return torch.stack(
        [
            record[0] + 1,
            record[1] + state.iterations.to(dtype).mean(),
            torch.maximum(record[2], state.iterations.to(dtype).amax()),
            record[3] + (~state.done).to(dtype).mean(),
            torch.maximum(record[4], error.amax()),
        ]
    )


def forward_pass(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    record: Tensor,
    *,
    plan: Plan,
) -> tuple[Tensor, ...]:
    """Statistics, the first steps of the search, and the output as if they were enough."""
    data = flat.to(working_dtype(flat))
    power = plan.phi if phi is None else phi
    assert power is not None
    problem = pose(data, plan)
    if plan.phi == 2.0:
        state = begin(problem.mean, problem.mean, problem.mean, done=torch.isfinite(problem.var))
        state = state._replace(error=torch.zeros_like(problem.mean))
    else:
        sums = data_sums(data, power, problem.floor, problem.unit, problem.spread)
        if plan.plain:
            state = newton(problem.mean, sums, power, problem.spread, plan.rounds)
        else:
            start = problem.mean + offset.to(data.dtype) * problem.spread
            state = begin(start, problem.low, problem.high)
            state = search(
                state, sums, power, problem.spread, ACCURACY[data.dtype], plan.rounds, reads_without_sync(data)
            )
    fit = finish(problem, materialize(state.y), plan.eps)
    y = apply(flat, fit.mu, fit.scale, weight, bias)
    return (y, record_of(record, state), state.done.all(), *fit, *problem, *state)


def more_rounds(flat: Tensor, phi: Tensor | None, *rest: Tensor, plan: Plan) -> tuple[Tensor, ...]:
    data = flat.to(working_dtype(flat))
    problem, state = Problem(*rest[:7]), State(*rest[7:])
    power = plan.phi if phi is None else phi
    assert power is not None
    sums = data_sums(data, power, problem.floor, problem.unit, problem.spread)
    return tuple(
        search(state, sums, power, problem.spread, ACCURACY[data.dtype], plan.rounds, reads_without_sync(data))
    )


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
    plan: Plan,
) -> tuple[Tensor, ...]:
    m, dtype = values_per_channel(flat), mu.dtype
    lane_mu, lane_scale = per_channel(mu, flat), per_channel(scale, flat)

    def products(dy: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
        dy = dy.to(dtype)
        return dy, dy * ((data.to(dtype) - lane_mu) * lane_scale)

    sum_dy, sum_dy_xhat = sum_chunks(products, grad, flat)
    factor = scale if weight is None else scale * weight
    dmu = factor * (sum_dy_xhat * ((mean - mu) * scale) - sum_dy)
    dphi = torch.zeros_like(mu)
    lane_factor, along = per_channel(materialize(factor), flat), per_channel(materialize(sum_dy_xhat / m), flat)

    def without_mu(dy: Tensor, d: Tensor) -> Tensor:
        return lane_factor * (dy.to(dtype) - d * lane_scale * along)

    if plan.phi == 2.0:
        shift = per_channel(materialize(dmu / m), flat)
        dx = map_chunks(lambda dy, data: without_mu(dy, data.to(dtype) - lane_mu) + shift, flat.dtype, grad, flat)
        return dx, sum_dy_xhat, sum_dy, dphi

    if plan.above_two:
        farthest = (flat.to(dtype) - lane_mu).abs().amax((0, 2) if flat.ndim == 3 else 0)
        unit = per_channel(materialize(torch.maximum(farthest, floor)), flat)
    else:
        unit = per_channel(materialize(floor / ACCURACY[dtype].floor), flat)
    power = plan.phi if phi is None else per_channel(phi, flat)
    assert power is not None
    lane_floor = per_channel(floor, flat)

    def pulls(data: Tensor) -> tuple[Tensor, ...]:
        d = data.to(dtype) - lane_mu
        distance = torch.maximum(d.abs(), lane_floor)
        w = weights(distance, power, unit)
        return (w,) if phi is None else (w, d * w * (distance / unit).log())

    weight_sum, *slope = sum_chunks(pulls, flat)
    share = materialize(dmu / weight_sum)
    lane_share = per_channel(share, flat)

    def complete(dy: Tensor, data: Tensor) -> Tensor:
        d = data.to(dtype) - lane_mu
        return without_mu(dy, d) + weights(torch.maximum(d.abs(), lane_floor), power, unit) * lane_share

    if phi is not None:
        dphi = share * slope[0] / (phi - 1)
    return map_chunks(complete, flat.dtype, grad, flat), sum_dy_xhat, sum_dy, dphi
