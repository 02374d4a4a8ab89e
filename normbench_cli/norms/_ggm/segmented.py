"""The generalized geometric median of each graph in a batch of graphs: rows of x belong to segments.

mu[g, c] minimizes sum |x_ic - y|^phi_c over the rows i of segment g; it is 0 for a segment without rows.  The search is
the one of `ggm_solver`; only the sums differ (index_add).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    REACH,
    TINY,
    Accuracy,
    State,
    Sums,
    begin,
    newton,
    search,
    weights,
)
from normbench_cli.norms._segments import segment_mean, segment_sizes, segment_sum, to_rows

ROUNDS_TOGETHER = 6


class Found(NamedTuple):
    """Per segment and channel."""

    mu: Tensor
    iterations: Tensor
    converged: Tensor
    error: Tensor


def segmented_median(
    x: Tensor,
    phi: float | Tensor,
    batch: Tensor,
    segments: int,
    plain: int | None = None,
    rounds: int = 80,
    look: bool = False,
) -> Found:
    """x (rows, channels), phi in (1, 16] (a number or one a channel), batch: the segment of each row."""
    tensor = phi if isinstance(phi, Tensor) else None
    number = None if isinstance(phi, Tensor) else float(phi)
    return Found(*_SegmentedMedian.apply(x, tensor, number, batch, segments, plain, rounds, look))


class _SegmentedMedian(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        phi: Tensor | None,
        number: float | None,
        batch: Tensor,
        segments: int,
        plain: int | None,
        rounds: int,
        look: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        power = number if phi is None else phi.to(x.dtype)
        assert power is not None
        accuracy = ACCURACY[x.dtype]
        sizes = segment_sizes(x, batch, segments)
        rows = batch.unsqueeze(-1).expand_as(x)
        mean = segment_mean(x, batch, segments, sizes)
        spread = segment_mean((x - to_rows(mean, batch)).square(), batch, segments, sizes).sqrt()
        empty = x.new_zeros(segments, x.shape[1])
        low = empty.scatter_reduce(0, rows, x, "amin", include_self=False)
        high = empty.scatter_reduce(0, rows, x, "amax", include_self=False)
        floor = (spread * accuracy.floor).clamp_min(TINY)
        unit = (high - low).clamp_min(TINY)
        if plain is not None:
            state = newton(mean, _sums(x, power, batch, floor, unit, spread), power, spread, plain)
        else:
            state = begin(mean, low, high, done=~torch.isfinite(mean))
            sums = _sums(x, power, batch, floor, unit, spread)
            state = search(state, sums, power, spread, accuracy, min(rounds, ROUNDS_TOGETHER) if look else rounds, look)
            if look and not bool(state.done.all()):
                state = search_rest(state, x, power, batch, floor, unit, spread, accuracy, rounds - ROUNDS_TOGETHER)
        nothing = (segment_sum(x.new_ones(len(x)), batch, segments) == 0).unsqueeze(-1)  # that could be searched
        state = state._replace(error=state.error.masked_fill(nothing, 0.0), done=state.done | nothing)
        mu = torch.where(torch.isfinite(mean), state.y, torch.nan).masked_fill(nothing, 0.0)
        ctx.save_for_backward(x, phi, batch, mu, floor, unit)
        ctx.number = number
        ctx.mark_non_differentiable(state.iterations, state.done, state.error)
        return mu, state.iterations, state.done, state.error

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, phi, batch, mu, floor, unit = ctx.saved_tensors
        power = ctx.number if phi is None else phi.to(x.dtype)
        d = x - to_rows(mu, batch)
        distance = torch.maximum(d.abs(), to_rows(floor, batch))
        w = weights(distance, power, to_rows(unit, batch))
        share = grad / segment_sum(w, batch, len(mu)).clamp_min(TINY)
        dphi = None
        if phi is not None:
            slope = segment_sum(d * w * (distance / to_rows(unit, batch)).log(), batch, len(mu))
            dphi = ((share * slope).sum(0) / (power - 1)).to(phi.dtype)
        return w * to_rows(share, batch), dphi, None, None, None, None, None, None


def search_rest(
    state: State,
    x: Tensor,
    phi: float | Tensor,
    batch: Tensor,
    floor: Tensor,
    unit: Tensor,
    spread: Tensor,
    accuracy: Accuracy,
    rounds: int,
) -> State:
    """Go on with those medians alone that are not found yet, which after the first steps are few: each is a segment of
    its own, of the values of one channel."""
    left = ~state.done
    number = torch.full(left.shape, -1, device=x.device)
    number[left] = torch.arange(int(left.sum()), device=x.device)
    row, channel = (to_rows(number, batch) >= 0).nonzero().unbind(1)
    owner = number[batch[row], channel]
    power = phi if isinstance(phi, float) else phi.expand_as(left)[left]
    power_of_value = power if isinstance(power, float) else to_rows(power, owner)
    scale = spread[left]
    sums = _sums(x[row, channel], power_of_value, owner, floor[left], unit[left], scale)
    found = search(State(*(of_all[left] for of_all in state)), sums, power, scale, accuracy, rounds, look=True)
    return State(*(of_all.masked_scatter(left, of_few) for of_all, of_few in zip(state, found, strict=True)))


def _sums(
    x: Tensor, phi: float | Tensor, batch: Tensor, floor: Tensor, unit: Tensor, spread: Tensor
) -> Callable[[Tensor], Sums]:
    segments = len(floor)
    floor, unit, reach = to_rows(floor, batch), to_rows(unit, batch), to_rows(spread * REACH, batch)

    def sums(y: Tensor) -> Sums:
        d = x - to_rows(y, batch)
        distance = torch.maximum(d.abs(), floor)
        w = weights(distance, phi, unit)
        parts = torch.stack([d * w, w, w * (reach / distance).clamp_max(1.0)], 1)
        return Sums(*segment_sum(parts, batch, segments).unbind(1))

    return sums
