"""Normalization about the generalized geometric median to a tolerance: the search, and the step as autograd function.

The search goes on until every channel is certified wherever asking costs nothing: on a CPU, where the answer decides in
Python, and in a CPU's compiled model, where it decides in the graph.  On an accelerator nobody asks.  There the number
of passes follows what the step before reported (`StepBefore`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm.autograd import (
    FEW_ELEMENTS,
    SCALE,
    lost_but_not_equal,
    normalization_backward,
    replaced,
    solve_in_float64,
)
from normbench_cli.norms._ggm.certified import in_deviations, in_standard_errors
from normbench_cli.norms._ggm.kernels import Fit, Problem, SolverOptions, fit_about, squares_lost
from normbench_cli.norms._ggm.passes import complete, first_passes, more_passes
from normbench_cli.norms._ggm.solver import ACCURACY, MAX_STEPS, SearchState
from normbench_cli.norms._ggm.stats import add_call
from normbench_cli.norms._ggm.step_before import StepBefore

LOOKS = 12  # before the channels that are left are solved alone
FEW_CHANNELS = 16  # one in so many left: solving them alone costs less than another pass over all data

FIRST = InductorKernel(first_passes)
MORE = InductorKernel(more_passes)
COMPLETE = InductorKernel(complete)


class Normalized(NamedTuple):
    y: Tensor
    mu: Tensor
    var: Tensor  # sigma^2, about mu
    offset: Tensor  # (mu - mean) / sd
    solver_totals: Tensor
    largest_error: Tensor  # the largest error bound of this call, in standard errors


def normalize_to_tolerance(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    options: SolverOptions,
    step_before: StepBefore,
) -> Normalized:
    """x: (N, C, ...); phi: (C), or None where it is a constant of the options; offset, center: (mu - mean) / sd and mu
    of the batch before; solver_totals: (5).  Differentiable: y in x, weight, bias and phi."""
    dynamic_rows = x.ndim == 2
    with torch.no_grad():
        flat = to_columns(x.detach())
        exponent = None if phi is None else phi.detach()
        found = find_medians(flat, exponent, offset, center, options, dynamic_rows, step_before)
    return Normalized(*_Normalize.apply(x, weight, bias, phi, flat, solver_totals, options, *found))  # type: ignore[no-untyped-call]


def find_medians(
    flat: Tensor,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    options: SolverOptions,
    dynamic_rows: bool,
    step_before: StepBefore,
) -> tuple[Tensor, ...]:
    """(*problem, *state), and where some channels needed float64 also (*fit)."""
    compiling, looks = torch.compiler.is_compiling(), reads_without_sync(flat)
    if not (compiling or looks):
        options = options._replace(steps=step_before.passes(options.steps))
    found = FIRST(flat, phi, offset, center, options=options, dynamic_rows=dynamic_rows)
    cut = len(Problem._fields)
    problem, state = Problem(*found[:cut]), SearchState(*found[cut:])
    if compiling:
        return (*problem, *(search_in_graph(flat, phi, problem, state, options) if flat.is_cpu else state))
    if not looks:
        step_before.report(state.done.all())
        return (*problem, *state)
    return search_with_looks(flat, phi, problem, state, options, dynamic_rows)


def search_in_graph(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, options: SolverOptions
) -> SearchState:
    """Until every channel is certified; a channel without a finite variance never is."""
    hopeless = ~torch.isfinite(problem.sd)
    once = options._replace(steps=1)

    def goes_on(number: Tensor, *state: Tensor) -> Tensor:
        return (number < MAX_STEPS) & ~(SearchState(*state).done | hopeless).all()

    def another(number: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return (number + 1, *more_passes(flat, phi, *problem, *state, options=once))

    start = torch.zeros((), dtype=torch.int64, device=flat.device)
    _, *rest = torch.while_loop(goes_on, another, (start, *state))
    return SearchState(*rest)


def search_with_looks(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, options: SolverOptions, dynamic_rows: bool
) -> tuple[Tensor, ...]:
    """Pass by pass for all channels while many are left or the data are few, then the last ones alone.  Reads values,
    so for a CPU."""
    once, left = options._replace(steps=1), 0
    for _ in range(LOOKS):
        left = int((~state.done).sum())
        if left == 0 or (left * FEW_CHANNELS <= state.done.numel() and flat.numel() > FEW_ELEMENTS):
            break
        state = SearchState(*MORE(flat, phi, *problem, *state, options=once, dynamic_rows=dynamic_rows))
    if left:
        state = search_for_few(flat, phi, problem, state, once)
    alone = ~state.done
    if bool(squares_lost(problem).any()):
        alone = alone | lost_but_not_equal(flat, problem)
    channels = alone.nonzero()[:, 0]
    if not len(channels):
        return (*problem, *state)
    return solve_alone(flat, phi, problem, state, channels, options)


def search_for_few(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, options: SolverOptions
) -> SearchState:
    """Pass by pass over the data of those channels alone that are not certified."""
    channels = (~state.done).nonzero()[:, 0]
    data, power = flat.index_select(1, channels), None if phi is None else phi[channels]
    of_some, some = Problem(*(t[channels] for t in problem)), SearchState(*(t[channels] for t in state))
    for _ in range(LOOKS):
        if bool(some.done.all()):
            break
        some = SearchState(*more_passes(data, power, *of_some, *some, options=options))
    return SearchState(*replaced(state, channels, some))


def solve_alone(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, channels: Tensor, options: SolverOptions
) -> tuple[Tensor, ...]:
    """(*problem, *state, *fit) with some channels solved in float64, their errors in `state` in standard deviations."""
    power = options.phi if phi is None else phi[channels].double()
    assert power is not None
    accuracy = ACCURACY[state.y.dtype]
    fit = fit_about(problem, state.y, options.eps)
    state = state._replace(error=in_deviations(state.error, problem.mean, problem.sd))
    some = SearchState(*(t[channels] for t in state))
    some, fit_of_some = solve_in_float64(flat.index_select(1, channels), power, some, options)
    some = some._replace(error=some.error.clamp_min(accuracy.tolerance + accuracy.floor))
    state, fit = SearchState(*replaced(state, channels, some)), Fit(*replaced(fit, channels, fit_of_some))
    return (*problem, *state, *fit)


class _Normalize(torch.autograd.Function):
    """Saved for backward: x in columns (shared with x where memory allows), four tensors of (C), gamma and phi."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        flat: Tensor,
        solver_totals: Tensor,
        options: SolverOptions,
        *found: Tensor,
    ) -> tuple[Tensor, ...]:
        problem_size, state_size = len(Problem._fields), len(SearchState._fields)
        dynamic_rows, mean, floor = x.ndim == 2, found[0], found[Problem._fields.index("floor")]
        if len(found) == problem_size + state_size:
            y, mu, var, scale, offset, totals, largest = COMPLETE(
                flat, weight, bias, solver_totals, *found, options=options, dynamic_rows=dynamic_rows
            )
        else:
            state = SearchState(*found[problem_size : problem_size + state_size])
            mu, var, scale, offset, mean, floor = found[problem_size + state_size :]
            y = SCALE(flat, mu, scale, weight, bias, dynamic_rows=dynamic_rows)
            error = state.error.nan_to_num(torch.inf)
            totals = add_call(solver_totals, state.iterations, state.done, error)
            largest = in_standard_errors(error, flat.numel() // flat.shape[1]).amax().to(totals.dtype)
        ctx.save_for_backward(flat, weight, mean, mu, scale, floor, phi)
        ctx.options, ctx.has_bias = options, bias is not None
        ctx.mark_non_differentiable(mu, var, offset, totals, largest)
        return detach_view(from_columns(y, x)), mu, var, offset, totals, largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        gradients = normalization_backward(ctx, grad)
        return (*gradients, *[None] * (len(ctx.needs_input_grad) - len(gradients)))


def compile_ahead(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    options: SolverOptions,
) -> None:
    """Compile the kernels that a search which goes on would use for a tensor like this one."""
    flat, dynamic_rows = to_columns(x), x.ndim == 2
    if not reads_without_sync(flat):
        return
    found = FIRST(flat, phi, offset, center, options=options, dynamic_rows=dynamic_rows)
    MORE(flat, phi, *found, options=options._replace(steps=1), dynamic_rows=dynamic_rows)
    mu, scale = found[0], found[1]
    SCALE(flat, mu, scale, weight, bias, dynamic_rows=dynamic_rows)
