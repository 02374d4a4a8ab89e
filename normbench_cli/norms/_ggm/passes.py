"""The forward pass of a layer with a tolerance, as functions that a compiler can fuse.

`forward_pass`: one pass over the data for the moments and for Newton's step from the previous batch's center to this
batch's median; then search passes that start there; then y.  `more_passes`: more search passes.  Tensors are as in
`kernels.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel, working_dtype
from normbench_cli.norms._batch.reduce import materialize, moments_and, sample_mean, sample_of, sum_chunks
from normbench_cli.norms._ggm.certified import (
    TargetAccuracy,
    certified_search,
    has_roots,
    in_deviations,
    in_standard_errors,
    quick_weights,
    start_from_center,
    target_accuracy,
)
from normbench_cli.norms._ggm.kernels import (
    Fit,
    Problem,
    SolverOptions,
    fit_about,
    power_of,
    prepare,
    problem_of,
    scale_and_shift,
    squares_out_of_range,
    unflatten,
)
from normbench_cli.norms._ggm.solver import ACCURACY, TINY, SearchState, Sums, start_search
from normbench_cli.norms._ggm.stats import add_call

CORE = 2.0  # standard errors; the slope about the previous batch's center is averaged over this distance
CORE_OF_STEPS = 4.0  # the same for a step of the search, in tolerances
FAR = 0.9  # fraction of the mean square about a center that may come from its distance to the mean


class Step(NamedTuple):
    """Results of a forward pass, (C) each unless noted."""

    y: Tensor  # columns
    mu: Tensor
    var: Tensor  # sigma^2, about mu
    scale: Tensor  # 1 / sqrt(sigma^2 + eps)
    offset: Tensor  # (mu - mean) / sd
    solver_totals: Tensor  # (5), this call included
    largest_error: Tensor  # (): the largest error bound of this call, in standard errors
    certified: Tensor  # (): whether all channels are
    mean: Tensor
    floor: Tensor


def forward_pass(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    *,
    options: SolverOptions,
) -> tuple[Tensor, ...]:
    """Return (whether all channels are settled, *fields of `Step`, *problem, *state) after `options.steps` search
    passes; offset: (mu - mean) / sd, center: mu, both of the previous batch."""
    data, power = flat.to(working_dtype(flat)), power_of(phi, options.phi)
    if options.above_two:
        problem = prepare(data, options)
        state = start_search(expected(problem, offset), problem.low, problem.high)
    else:
        problem, state = prepare_about(data, power, offset, center.to(data.dtype), options)
    state = state._replace(y=materialize(state.y))
    smooth = not options.above_two and (options.steps > 1 or not has_roots(power))
    state = search_on(data, power, problem, state, options, smooth)
    settled = (state.done & ~squares_out_of_range(problem)).all()
    fit = fit_about(problem, materialize(state.y), options.eps)
    y = scale_and_shift(flat, fit.mu, fit.scale, weight, bias)
    return (settled, *completed(y, fit, errors_in_deviations(problem, state), solver_totals), *problem, *state)


def more_passes(flat: Tensor, phi: Tensor | None, *rest: Tensor, options: SolverOptions) -> tuple[Tensor, ...]:
    """Return the state after `options.steps` more passes; rest: (*problem, *state)."""
    problem, state = unflatten(rest)
    data, power = flat.to(working_dtype(flat)), power_of(phi, options.phi)
    return tuple(search_on(data, power, problem, state, options, smooth=not options.above_two))


def errors_in_deviations(problem: Problem, state: SearchState) -> SearchState:
    return state._replace(error=in_deviations(state.error, problem.mean, problem.sd).nan_to_num(torch.inf))


def completed(y: Tensor, fit: Fit, state: SearchState, solver_totals: Tensor) -> Step:
    """state: with errors in standard deviations"""
    totals = add_call(solver_totals, state.iterations, state.done, state.error)
    largest = in_standard_errors(state.error, values_per_channel(y)).amax().to(totals.dtype)
    return Step(y, fit.mu, fit.var, fit.scale, fit.offset, totals, largest, state.done.all(), fit.mean, fit.floor)


def expected(problem: Problem, offset: Tensor) -> Tensor:
    return problem.mean + offset.to(problem.mean.dtype) * problem.sd


def search_on(
    data: Tensor, power: float | Tensor, problem: Problem, state: SearchState, options: SolverOptions, smooth: bool
) -> SearchState:
    """smooth: average the slope over a distance, which a pass that is nearly always the last does not need."""
    assert options.tol is not None
    target = target_accuracy(problem.mean, problem.sd, problem.floor, power, values_per_channel(data), options.tol)
    sums = sums_of(data, power, problem, target, smooth)
    return certified_search(state, sums, power, target, options.steps)


def sums_of(
    data: Tensor, power: float | Tensor, problem: Problem, target: TargetAccuracy, smooth: bool
) -> Callable[[Tensor], Sums]:
    """`Sums` as a function of y, if ``smooth`` with a slope averaged over `CORE_OF_STEPS` tolerances."""
    floor, per_unit, reach = (
        per_channel(materialize(t), data) for t in (problem.floor, problem.unit.reciprocal(), target.reach)
    )
    exponent = power if isinstance(power, float) else materialize(per_channel(power, data))
    core, top = flat_top(target.distance * CORE_OF_STEPS, power, problem.unit, data)

    def sums(y: Tensor) -> Sums:
        y = per_channel(materialize(y), data)

        def terms(values: Tensor) -> tuple[Tensor, ...]:
            d = values - y
            distance = torch.maximum(d.abs(), floor)
            w = quick_weights(distance, exponent, per_unit)
            fraction = w * w * reach if has_roots(power) else distance.reciprocal() * reach
            found = d * w, w, w * fraction.clamp_max_(1.0)
            return (*found, torch.where(distance < core, top, w)) if smooth else found

        return Sums(*sum_chunks(terms, data))

    return sums


def flat_top(core: Tensor, power: float | Tensor, unit: Tensor, data: Tensor) -> tuple[Tensor, Tensor]:
    """The distance `core` and the weight to use for values within it, so that the sum of weights is the average slope
    of the score over that distance.

    One value close to y has a weight so large that the slope at y says nothing about a step.  The mean of |d|^(phi-2)
    over |d| < core is core^(phi-2) / (phi-1), the mean weight of evenly spread values.
    """
    top = quick_weights(core.clamp_min(TINY), power, unit.reciprocal()) / (power - 1)
    return per_channel(materialize(core), data), per_channel(materialize(top), data)


def prepare_about(
    data: Tensor, power: float | Tensor, offset: Tensor, center: Tensor, options: SolverOptions
) -> tuple[Problem, SearchState]:
    """Moments and the start of the search, in one pass over the data: all sums are about one point."""
    about, spread = point_near(center, sample_of(data))
    floor = materialize((spread * ACCURACY[data.dtype].floor).clamp_min(TINY))
    least, per_unit = per_channel(floor, data), per_channel(materialize(spread.reciprocal()), data)
    exponent = power if isinstance(power, float) else materialize(per_channel(power, data))
    near, top = flat_top(spread * (CORE * values_per_channel(data) ** -0.5), power, spread, data)

    def terms(d: Tensor) -> tuple[Tensor, Tensor]:
        distance = torch.maximum(d.abs(), least)
        w = quick_weights(distance, exponent, per_unit)
        return d * w, torch.where(distance < near, top, w)

    mean, var, score, slope = moments_and(terms, data, about)
    problem = problem_of(data, mean, var, options)
    start = start_search(expected(problem, offset), problem.low, problem.high)
    return problem, start_from_center(about, score, slope, power, floor, start)


def point_near(center: Tensor, sample: Tensor) -> tuple[Tensor, Tensor]:
    """Return a point about which sums lose no digits, the previous batch's center or, if that is far away, the mean of
    the sample; and the root mean square of the sample about it, the unit of distances (any would do)."""
    mean, square = sample_mean(sample), sample_mean((sample - per_channel(center, sample)).square())
    away = (mean - center).square()
    is_near = away <= square * FAR
    spread = torch.where(is_near, square, square - away).clamp_min(0.0).sqrt().clamp_min(TINY)
    return materialize(torch.where(is_near, center, mean)), materialize(spread)
