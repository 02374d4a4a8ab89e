"""The generalized geometric median of each graph in a batch of graphs: rows of x belong to segments.

mu[g, c] minimizes sum |x_ic - y|^phi_c over the rows i of segment g; it is 0 for a segment without rows.  The search is
that of `solver.py`; only the sums differ (index_add).

Shapes: x (rows, C), batch (rows), phi a number or (C); per median (segments, C).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._ggm.certified import TargetAccuracy, certified_search, in_deviations, target_accuracy
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    MAX_STEPS,
    REACH,
    TINY,
    Accuracy,
    MedianResult,
    SearchState,
    Sums,
    is_ordinary,
    plain_newton,
    power_of_four,
    search,
    start_search,
    weights,
)
from normbench_cli.norms._segments import segment_mean, segment_sizes, segment_sum, to_rows

STEPS_TOGETHER = 6  # before the remaining medians are searched for alone


def segmented_median(
    x: Tensor,
    phi: float | Tensor,
    batch: Tensor,
    segments: int,
    plain_iterations: int | None = None,
    steps: int = MAX_STEPS,
    stop_early: bool = False,
    tol: float | None = None,
) -> MedianResult:
    """The medians of all segments, differentiable in x and phi; phi in (1, 16].

    batch: the segment of each row, in any order
    plain_iterations: number of the papers' iterations to run instead of the safe search of at most `steps` steps
    stop_early: stop when all medians are found; testing for this waits for the device
    tol: distance to the medians, in standard errors sd / sqrt(rows of the segment); None: to the last digits
    """
    tensor, number = (phi, None) if isinstance(phi, Tensor) else (None, float(phi))
    results: tuple[Tensor, ...] = _SegmentedMedian.apply(  # type: ignore[no-untyped-call]
        x, tensor, number, batch, segments, plain_iterations, steps, stop_early, tol
    )
    return MedianResult(*results)


class _SegmentedMedian(torch.autograd.Function):
    """Saved for backward: x, batch, phi, and per median mu, floor, unit and (if magnitudes are extreme) the scale."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        phi: Tensor | None,
        constant_phi: float | None,
        batch: Tensor,
        segments: int,
        plain_iterations: int | None,
        steps: int,
        stop_early: bool,
        tol: float | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        power = constant_phi if phi is None else phi.to(x.dtype)
        assert power is not None
        accuracy = ACCURACY[x.dtype]
        rows = batch.unsqueeze(-1).expand_as(x)
        zeros = x.new_zeros(segments, x.shape[1])
        low = zeros.scatter_reduce(0, rows, x, "amin", include_self=False)
        high = zeros.scatter_reduce(0, rows, x, "amax", include_self=False)
        size = torch.maximum(low.abs(), high.abs())
        scale = None if stop_early and bool(is_ordinary(size).all()) else power_of_four(size)
        data = x
        if scale is not None:
            data, low, high = x * to_rows(scale, batch), low * scale, high * scale
        sizes = segment_sizes(x, batch, segments)
        mean = segment_mean(data, batch, segments, sizes)
        sd = segment_mean((data - to_rows(mean, batch)).square(), batch, segments, sizes).sqrt()
        floor = (sd * accuracy.floor).clamp_min(TINY)
        unit = (high - low).clamp_min(TINY)
        target = None if tol is None else target_accuracy(mean, sd, floor, power, sizes.unsqueeze(-1), tol)
        sums = _segment_sums(data, power, batch, floor, unit, sd * REACH if target is None else target.reach)
        if plain_iterations is not None:
            state = plain_newton(mean, sums, power, sd, plain_iterations)
        else:
            state = start_search(mean, low, high, done=~torch.isfinite(mean))
            first = min(steps, STEPS_TOGETHER) if stop_early else steps
            state = search_on(state, sums, power, sd, accuracy, target, first, stop_early)
            if stop_early and not bool(state.done.all()):
                state = search_rest(
                    state, data, power, batch, floor, unit, sd, accuracy, target, steps - STEPS_TOGETHER
                )
            if target is not None:
                state = state._replace(error=in_deviations(state.error, mean, sd))
        empty = (segment_sum(x.new_ones(len(x)), batch, segments) == 0).unsqueeze(-1)
        state = state._replace(error=state.error.masked_fill(empty, 0.0), done=state.done | empty)
        mu = torch.where(torch.isfinite(mean), state.y, torch.nan).masked_fill(empty, 0.0)
        ctx.save_for_backward(x, phi, batch, mu, floor, unit, scale)
        ctx.constant_phi = constant_phi
        ctx.mark_non_differentiable(state.iterations, state.done, state.error)
        return (mu if scale is None else mu / scale), state.iterations, state.done, state.error

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, phi, batch, mu, floor, unit, scale = ctx.saved_tensors
        power = ctx.constant_phi if phi is None else phi.to(x.dtype)
        data = x if scale is None else x * to_rows(scale, batch)
        d = data - to_rows(mu, batch)
        distance = torch.maximum(d.abs(), to_rows(floor, batch))
        w = weights(distance, power, to_rows(unit, batch))
        dmu_per_weight = grad / segment_sum(w, batch, len(mu)).clamp_min(TINY)
        dphi = None
        if phi is not None:
            sum_dwlogd = segment_sum(d * w * (distance / to_rows(unit, batch)).log(), batch, len(mu))
            if scale is not None:
                sum_dwlogd = sum_dwlogd / scale
            dphi = ((dmu_per_weight * sum_dwlogd).sum(0) / (power - 1)).to(phi.dtype)
        return w * to_rows(dmu_per_weight, batch), dphi, None, None, None, None, None, None, None


def search_on(
    state: SearchState,
    sums: Callable[[Tensor], Sums],
    phi: float | Tensor,
    sd: Tensor,
    accuracy: Accuracy,
    target: TargetAccuracy | None,
    steps: int,
    stop_early: bool,
) -> SearchState:
    """Take at most `steps` steps, to the target accuracy or to the last digits."""
    if target is None:
        return search(state, sums, phi, sd, accuracy, steps, stop_early)
    for _ in range(steps):
        if stop_early and bool(state.done.all()):
            break
        state = certified_search(state, sums, phi, target, 1)
    return state


def search_rest(
    state: SearchState,
    x: Tensor,
    phi: float | Tensor,
    batch: Tensor,
    floor: Tensor,
    unit: Tensor,
    sd: Tensor,
    accuracy: Accuracy,
    target: TargetAccuracy | None,
    steps: int,
) -> SearchState:
    """Continue for the remaining medians only, which are few after the first steps: each becomes a segment of its own,
    with the values of one channel."""
    left = ~state.done
    number = torch.full(left.shape, -1, device=x.device)
    number[left] = torch.arange(int(left.sum()), device=x.device)
    row, channel = (to_rows(number, batch) >= 0).nonzero().unbind(1)
    owner = number[batch[row], channel]
    power = phi if isinstance(phi, float) else phi.expand_as(left)[left]
    power_of_value = power if isinstance(power, float) else to_rows(power, owner)
    target_of_some = None if target is None else target.of(left)
    reach = sd[left] * REACH if target_of_some is None else target_of_some.reach
    sums = _segment_sums(x[row, channel], power_of_value, owner, floor[left], unit[left], reach)
    some = SearchState(*(of_all[left] for of_all in state))
    found = search_on(some, sums, power, sd[left], accuracy, target_of_some, steps, stop_early=True)
    return SearchState(*(of_all.masked_scatter(left, of_some) for of_all, of_some in zip(state, found, strict=True)))


def _segment_sums(
    x: Tensor, phi: float | Tensor, batch: Tensor, floor: Tensor, unit: Tensor, reach: Tensor
) -> Callable[[Tensor], Sums]:
    """`Sums` as a function of y: x (rows) or (rows, C), the others one row per segment."""
    segments = len(floor)
    floor, unit, reach = to_rows(floor, batch), to_rows(unit, batch), to_rows(reach, batch)

    def sums(y: Tensor) -> Sums:
        d = x - to_rows(y, batch)
        distance = torch.maximum(d.abs(), floor)
        w = weights(distance, phi, unit)
        terms = torch.stack([d * w, w, w * (reach / distance).clamp_max(1.0)], 1)
        return Sums(*segment_sum(terms, batch, segments).unbind(1))

    return sums
