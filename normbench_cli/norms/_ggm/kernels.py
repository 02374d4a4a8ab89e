"""Normalization about the generalized geometric median: the forward pass, as functions that a compiler can fuse.

    d = x - mu,   sigma^2 = mean d^2 = var(x) + (mean(x) - mu)^2
    xhat = d / sqrt(sigma^2 + eps),   y = gamma xhat + beta

`flat` are columns: (values, C) or (N, C, values).  All other tensors are (C) unless a shape is given.  A compiled
function takes and returns only tensors, so named tuples are passed element by element (`unflatten`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import per_channel, working_dtype
from normbench_cli.norms._batch.reduce import map_chunks, materialize, moments
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    REACH,
    TINY,
    SearchState,
    column_sums,
    plain_newton,
    search,
    start_search,
)
from normbench_cli.norms._ggm.stats import add_call

SMALLEST_SD = 1e-16  # the square of a smaller one loses digits in float32


class SolverOptions(NamedTuple):
    """The constants of a layer's normalization; hashable, since each combination has its own kernel."""

    phi: float | None  # None: a tensor, one value per channel
    eps: float
    steps: int  # before the first convergence test
    plain: bool = False  # the papers' iteration instead of the safe search
    above_two: bool = False  # phi may be above 2: then the median need not lie within one sd of the mean
    tol: float | None = None  # in standard errors; None: to the last digit


class Problem(NamedTuple):
    """The statistics of the data that the search uses."""

    mean: Tensor
    var: Tensor  # biased, about the mean
    sd: Tensor  # the root of var
    floor: Tensor  # smaller distances count as this one
    unit: Tensor  # the unit of distances that are raised to a power
    low: Tensor  # the bracket of the median
    high: Tensor


class Fit(NamedTuple):
    """The statistics that a training step normalizes by and needs again for its gradient."""

    mu: Tensor
    var: Tensor  # sigma^2, about mu
    scale: Tensor  # 1 / sqrt(sigma^2 + eps)
    offset: Tensor  # (mu - mean) / sd: where the next search starts
    mean: Tensor
    floor: Tensor


def unflatten(tensors: Sequence[Tensor]) -> tuple[Problem, SearchState]:
    """The inverse of (*problem, *state)."""
    cut = len(Problem._fields)
    return Problem(*tensors[:cut]), SearchState(*tensors[cut:])


class ForwardPass(NamedTuple):
    """The results of `forward_pass`, unflattened."""

    y: Tensor  # columns, as if the first steps were enough
    solver_totals: Tensor  # (5), this call included
    enough: Tensor  # bool, a scalar: whether they were
    fit: Fit
    problem: Problem
    state: SearchState

    @classmethod
    def unflatten(cls, tensors: Sequence[Tensor]) -> ForwardPass:
        y, solver_totals, enough, *rest = tensors
        cut = len(Fit._fields)
        return cls(y, solver_totals, enough, Fit(*rest[:cut]), *unflatten(rest[cut:]))


def prepare(data: Tensor, options: SolverOptions) -> Problem:
    """Moments and a bracket of columns in working precision; one pass over the data, three for phi above 2."""
    return problem_of(data, *moments(data), options)


def problem_of(data: Tensor, mean: Tensor, var: Tensor, options: SolverOptions) -> Problem:
    sd = materialize(var.sqrt())
    floor = materialize((sd * ACCURACY[data.dtype].floor).clamp_min(TINY))
    if options.above_two:
        axes = (0, 2) if data.ndim == 3 else 0
        low, high = materialize(data.amin(axes)), materialize(data.amax(axes))
        return Problem(mean, var, sd, floor, materialize((high - low).clamp_min(TINY)), low, high)
    # |mu - mean| <= mean|x - mu| <= (mean|x - mu|^phi)^(1/phi) <= (mean|x - mean|^phi)^(1/phi) <= sd for phi <= 2
    reach = sd * 1.001 + mean.abs() * ACCURACY[data.dtype].rounding
    return Problem(mean, var, sd, floor, sd.clamp_min(TINY), mean - reach, mean + reach)


def power_of(phi: Tensor | None, constant: float | None) -> float | Tensor:
    """phi as a tensor, or else as a constant: one of the two is given."""
    power = constant if phi is None else phi
    assert power is not None
    return power


def squares_out_of_range(problem: Problem) -> Tensor:
    """Bool: channels whose squares over- or underflow, so that `var` says nothing about their spread.

    They include channels of equal values near zero.  The bracket includes rounding, which is a fraction of the mean:
    far from zero it is wide, and values that differ at all differ by more.
    """
    return ~(problem.high - problem.low >= 2 * SMALLEST_SD) | torch.isinf(problem.var)


def fit_about(problem: Problem, mu: Tensor, eps: float) -> Fit:
    """Variance and scale about mu, without a pass over the data."""
    mean, sd = problem.mean, problem.sd
    var = problem.var + (mean - mu).square()
    offset = ((mu - mean) / sd).nan_to_num(0.0, 0.0, 0.0)
    return Fit(mu, var, (var + eps).rsqrt(), offset, mean, problem.floor)


def scale_and_shift(flat: Tensor, mu: Tensor, scale: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """y = (x - mu) scale gamma + beta, in columns and in the dtype of the data."""
    factor = per_channel(materialize(scale if weight is None else scale * weight), flat)
    center, shift = per_channel(mu, flat), None if bias is None else per_channel(bias, flat)

    def scaled(data: Tensor) -> Tensor:
        y = (data.to(mu.dtype) - center) * factor
        return y if shift is None else y + shift

    return map_chunks(scaled, flat.dtype, flat)


def forward_pass(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    solver_totals: Tensor,
    *,
    options: SolverOptions,
) -> tuple[Tensor, ...]:
    """Moments, the first steps of the search from mean + offset sd, and the output as if they were enough: the fields
    of a `ForwardPass`.  Passes over the data: one for the moments, one per step, one for the output."""
    data = flat.to(working_dtype(flat))
    power = power_of(phi, options.phi)
    problem = prepare(data, options)
    if options.phi == 2.0:
        state = start_search(problem.mean, problem.mean, problem.mean, done=torch.isfinite(problem.var))
        state = state._replace(error=torch.zeros_like(problem.mean))
        enough = state.done.all()
    else:
        sums = column_sums(data, power, problem.floor, problem.unit, problem.sd * REACH)
        if options.plain:
            state = plain_newton(problem.mean, sums, power, problem.sd, options.steps)
            enough = ~squares_out_of_range(problem).any()
        else:
            start = problem.mean + offset.to(data.dtype) * problem.sd
            state = start_search(start, problem.low, problem.high)
            accuracy, stop_early = ACCURACY[data.dtype], reads_without_sync(data)
            state = search(state, sums, power, problem.sd, accuracy, options.steps, stop_early)
            # as in `squares_out_of_range`: a channel of infinite variance is never done
            enough = (state.done & (problem.high - problem.low >= 2 * SMALLEST_SD)).all()
    fit = fit_about(problem, materialize(state.y), options.eps)
    y = scale_and_shift(flat, fit.mu, fit.scale, weight, bias)
    new_totals = add_call(solver_totals, state.iterations, state.done, state.error.nan_to_num(torch.inf))
    return (y, new_totals, enough, *fit, *problem, *state)


def continue_search(flat: Tensor, phi: Tensor | None, *rest: Tensor, options: SolverOptions) -> tuple[Tensor, ...]:
    """Take more steps; rest: (*problem, *state).  Returns the new state."""
    data = flat.to(working_dtype(flat))
    problem, state = unflatten(rest)
    power = power_of(phi, options.phi)
    sums = column_sums(data, power, problem.floor, problem.unit, problem.sd * REACH)
    accuracy, stop_early = ACCURACY[data.dtype], reads_without_sync(data)
    return tuple(search(state, sums, power, problem.sd, accuracy, options.steps, stop_early))
