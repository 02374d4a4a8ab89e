"""Normalization about the generalized geometric median of the values of all processes.

The median is the global one: the sums of each pass over the data are added over the processes, so every process takes
the same steps to the last bit.  Collectives per forward: one for the moments (and for phi above 2 the extremes), one
per pass, one for sigma^2.  Backward: two.  Each pass is followed by a convergence test, on an accelerator too: waiting
costs less than another collective.

data: columns in working precision, this process's part of the batch, possibly an empty one; all else is (C).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import per_channel, values_per_channel
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.selection import mid_range, middle
from normbench_cli.norms._batch.synced import axes_of_channel, mean_over, range_of
from normbench_cli.norms._ggm.certified import certified_step, in_deviations, target_accuracy
from normbench_cli.norms._ggm.kernels import Problem, SolverOptions, power_of, problem_of
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    MAX_STEPS,
    REACH,
    TINY,
    SearchState,
    Sums,
    column_sums,
    plain_newton,
    search_step,
    start_search,
    weights,
)


class Center(NamedTuple):
    """mu, differentiable in the data and phi; and the outcome of the search, if there was one."""

    mu: Tensor
    offset: Tensor | None = None  # (mu - mean) / sd
    iterations: Tensor | None = None
    done: Tensor | None = None
    error: Tensor | None = None  # bound on the error of mu, in standard deviations


def center_over(
    processes: Processes, data: Tensor, phi: Tensor | None, start: Tensor, options: SolverOptions
) -> Center:
    """phi: (C), or None if it is a constant of the options; start: the offset from which the search starts."""
    if options.phi == 1.0:
        return Center(middle(data, processes))
    if options.phi == float("inf"):
        return Center(mid_range(data, processes))
    if options.phi == 2.0:
        mu, _ = mean_over(processes, data)
        zero = torch.zeros_like(mu.detach())
        return Center(mu, zero, zero, torch.isfinite(mu.detach()), zero)
    return Center(*_Median.apply(data, phi, start, options, processes))  # type: ignore[no-untyped-call]


def problem_over(processes: Processes, data: Tensor, options: SolverOptions) -> tuple[Problem, Tensor]:
    """The moments of all processes with the bracket of the median, and the number of values (C).  Sums are in float64,
    as in `mean_over`."""
    axes = axes_of_channel(data)
    own_sum = data.sum(axes, dtype=torch.float64)
    count = torch.full_like(own_sum, values_per_channel(data))
    own_mean = own_sum / count.clamp_min(1)
    d = data - per_channel(own_mean.to(data.dtype), data)
    own_var = (d * d).sum(axes, dtype=torch.float64) / count.clamp_min(1)
    extremes = range_of(data) if options.above_two else ()
    counts, means, variances, *ends = processes.gather(torch.stack([count, own_mean, own_var, *extremes])).unbind(1)
    shares = counts / counts.sum(0)
    wide_mean = (shares * means).sum(0)
    mean = wide_mean.to(data.dtype)
    var = (shares * (variances + (means - wide_mean).square())).sum(0).to(data.dtype)
    total = counts.sum(0).to(data.dtype)
    if not ends:
        return problem_of(data, mean, var, options), total
    low, high = ends[0].amin(0).to(data.dtype), ends[1].amax(0).to(data.dtype)
    sd = var.sqrt()
    floor = (sd * ACCURACY[data.dtype].floor).clamp_min(TINY)
    return Problem(mean, var, sd, floor, (high - low).clamp_min(TINY), low, high), total


def search_over(
    processes: Processes, data: Tensor, power: float | Tensor, start: Tensor, options: SolverOptions
) -> tuple[Problem, SearchState]:
    """The state's errors are in standard deviations."""
    problem, count = problem_over(processes, data, options)
    accuracy, exact = ACCURACY[data.dtype], options.tol is None
    target = target_accuracy(problem.mean, problem.sd, problem.floor, power, count, options.tol or 1.0)
    local = column_sums(data, power, problem.floor, problem.unit, problem.sd * REACH if exact else target.reach)
    sums = added(local, processes)
    if options.plain:
        return problem, plain_newton(problem.mean, sums, power, problem.sd, options.steps)
    state = start_search(problem.mean + start.to(data.dtype) * problem.sd, problem.low, problem.high)
    for _ in range(MAX_STEPS):
        if exact:
            state = search_step(state, sums(state.y), power, problem.sd, accuracy)
        else:
            state = certified_step(state, sums(state.y), power, target)
        if bool(state.done.all()):
            break
    return problem, state if exact else state._replace(error=in_deviations(state.error, problem.mean, problem.sd))


def added(sums: Callable[[Tensor], Sums], processes: Processes) -> Callable[[Tensor], Sums]:
    """The sums over the data of all processes; one all-reduce."""
    return lambda y: Sums(*processes.add(torch.stack(list(sums(y)[:3]))).unbind())


class _Median(torch.autograd.Function):
    """dx = w / sum w dmu with the dmu of all processes; dphi with this process's own (see `gradient.py`)."""

    @staticmethod
    def forward(
        ctx: Any, data: Tensor, phi: Tensor | None, start: Tensor, options: SolverOptions, processes: Processes
    ) -> tuple[Tensor, ...]:
        power = power_of(phi, options.phi)
        problem, state = search_over(processes, data, power, start, options)
        offset = ((state.y - problem.mean) / problem.sd).nan_to_num(0.0, 0.0, 0.0)
        ctx.save_for_backward(data, phi, state.y, problem.floor, problem.unit)
        ctx.options, ctx.processes = options, processes
        error = state.error.nan_to_num(torch.inf)
        ctx.mark_non_differentiable(offset, state.iterations, state.done, error)
        return state.y, offset, state.iterations, state.done, error

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        data, phi, mu, floor, unit = ctx.saved_tensors
        power = ctx.options.phi if phi is None else per_channel(phi, data)
        d = data - per_channel(mu, data)
        distance, unit = torch.maximum(d.abs(), per_channel(floor, data)), per_channel(unit, data)
        w = weights(distance, power, unit)
        terms = [w] if phi is None else [w, d * w * (distance / unit).log()]
        sums = [term.sum(axes_of_channel(data)) for term in terms]
        total, weight, *slope = ctx.processes.add(torch.stack([grad, *sums])).unbind()
        dphi = None if phi is None else grad * slope[0] / (weight * (phi - 1))
        return w * per_channel(total / weight, data), dphi, None, None, None
