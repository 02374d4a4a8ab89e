"""The forward pass of a layer with a tolerance, as functions that a compiler can fuse.

`first_passes`: one pass over the data for the moments and, about the center of the batch before, for Newton's step to
this batch's median; then passes of the search that start there.  `more_passes`: more of the search.  `complete`: y.
Tensors are as in `kernels.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, values_per_channel, working_dtype
from normbench_cli.norms._batch.reduce import materialize, moments_and, sample_mean, sample_of
from normbench_cli.norms._ggm.certified import (
    Asked,
    certified_search,
    in_deviations,
    in_standard_errors,
    start_from_center,
    what_is_asked,
)
from normbench_cli.norms._ggm.kernels import (
    Problem,
    SolverOptions,
    fit_about,
    prepare,
    problem_of,
    scale_and_shift,
    unflatten,
)
from normbench_cli.norms._ggm.solver import ACCURACY, TINY, SearchState, column_sums, start_search, weights
from normbench_cli.norms._ggm.stats import add_call


def first_passes(
    flat: Tensor, phi: Tensor | None, offset: Tensor, center: Tensor, *, options: SolverOptions
) -> tuple[Tensor, ...]:
    """(*problem, *state) after `options.steps` passes of the search; offset: (mu - mean) / sd, center: mu, both of the
    batch before."""
    data, power = flat.to(working_dtype(flat)), power_of(phi, options)
    if options.above_two:
        problem = prepare(data, options)
        state = start_search(expected(problem, offset), problem.low, problem.high)
    else:
        problem, state = prepare_about(data, power, offset, center.to(data.dtype), options)
    state = state._replace(y=materialize(state.y))
    return (*problem, *search_on(data, power, problem, state, options))


def more_passes(flat: Tensor, phi: Tensor | None, *rest: Tensor, options: SolverOptions) -> tuple[Tensor, ...]:
    """The state after `options.steps` more passes; rest: (*problem, *state)."""
    problem, state = unflatten(rest)
    return tuple(search_on(flat.to(working_dtype(flat)), power_of(phi, options), problem, state, options))


def complete(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    solver_totals: Tensor,
    *rest: Tensor,
    options: SolverOptions,
) -> tuple[Tensor, ...]:
    """y, mu, sigma^2, scale, offset, the new totals and the largest error bound in standard errors."""
    problem, state = unflatten(rest)
    fit = fit_about(problem, materialize(state.y), options.eps)
    y = scale_and_shift(flat, fit.mu, fit.scale, weight, bias)
    error = in_deviations(state.error, problem.mean, problem.sd).nan_to_num(torch.inf)
    totals = add_call(solver_totals, state.iterations, state.done, error)
    largest = in_standard_errors(error, values_per_channel(flat)).amax()
    return y, fit.mu, fit.var, fit.scale, fit.offset, totals, largest.to(solver_totals.dtype)


def power_of(phi: Tensor | None, options: SolverOptions) -> float | Tensor:
    power = options.phi if phi is None else phi
    assert power is not None
    return power


def expected(problem: Problem, offset: Tensor) -> Tensor:
    return problem.mean + offset.to(problem.mean.dtype) * problem.sd


def asked_of(flat: Tensor, power: float | Tensor, problem: Problem, options: SolverOptions) -> Asked:
    assert options.tol is not None
    return what_is_asked(problem.mean, problem.sd, problem.floor, power, values_per_channel(flat), options.tol)


def search_on(
    data: Tensor, power: float | Tensor, problem: Problem, state: SearchState, options: SolverOptions
) -> SearchState:
    asked = asked_of(data, power, problem, options)
    sums = column_sums(data, power, problem.floor, problem.unit, asked.reach)
    return certified_search(state, sums, power, asked, options.steps)


def prepare_about(
    data: Tensor, power: float | Tensor, offset: Tensor, center: Tensor, options: SolverOptions
) -> tuple[Problem, SearchState]:
    """Moments, and where the search begins, in one pass over the data.  The length in which distances are measured is
    that of a sample about the center; any would do."""
    sample = sample_of(data)
    spread = sample_mean((sample - per_channel(center, data)).square()).sqrt().clamp_min(TINY)
    floor = materialize((spread * ACCURACY[data.dtype].floor).clamp_min(TINY))
    about = per_channel(materialize(center), data)
    least, unit = per_channel(floor, data), per_channel(materialize(spread), data)
    exponent = power if isinstance(power, float) else per_channel(power, data)

    def terms(values: Tensor) -> tuple[Tensor, Tensor]:
        d = values - about
        w = weights(torch.maximum(d.abs(), least), exponent, unit)
        return d * w, w

    mean, var, score, weight = moments_and(terms, data)
    problem = problem_of(data, mean, var, options)
    start = start_search(expected(problem, offset), problem.low, problem.high)
    return problem, start_from_center(center, score, weight, power, floor, start)
