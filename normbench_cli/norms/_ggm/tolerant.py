"""The forward pass with a tolerance, with and without a convergence test.

On a CPU the test costs nothing, and the search continues until every channel is certified.  On an accelerator there is
no test: `pass_scheduler.py` sets the number of passes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import to_columns
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import SEARCHED_MATRIX, reads_without_sync
from normbench_cli.norms._ggm.autograd import FEW_ELEMENTS, lost_but_not_equal, replaced, solve_in_float64
from normbench_cli.norms._ggm.gradient import backward_pass
from normbench_cli.norms._ggm.kernels import (
    Fit,
    Problem,
    SolverOptions,
    fit_about,
    scale_and_shift,
    squares_out_of_range,
    unflatten,
)
from normbench_cli.norms._ggm.passes import (
    Step,
    completed,
    errors_in_deviations,
    forward_pass,
    more_passes,
)
from normbench_cli.norms._ggm.solver import ACCURACY, SearchState
from normbench_cli.norms._native import columns as native

MOST_TESTS = 12  # before the remaining channels are solved alone
FEW_CHANNELS = 16  # if one in this many is left, searching for them alone costs less than another pass over all data

FORWARD = InductorKernel(forward_pass, SEARCHED_MATRIX)
MORE = InductorKernel(more_passes, SEARCHED_MATRIX)
SCALE = InductorKernel(scale_and_shift, SEARCHED_MATRIX)
BACKWARD = InductorKernel(backward_pass, SEARCHED_MATRIX)


def forward_step(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    *,
    options: SolverOptions,
    dynamic_rows: bool,
) -> Step:
    """offset, center: (mu - mean) / sd and mu of the previous batch"""
    settled, *found = FORWARD(
        flat, weight, bias, phi, offset, center, solver_totals, options=options, dynamic_rows=dynamic_rows
    )
    cut = len(Step._fields)
    step = Step(*found[:cut])
    if not reads_without_sync(flat) or bool(settled):
        return step
    problem, state = unflatten(found[cut:])
    left = ~state.done | squares_out_of_range(problem)
    state, fit = search_and_test(flat, phi, problem, state, options, dynamic_rows)
    fit = Fit(*(torch.where(left, new, getattr(step, name)) for name, new in zip(Fit._fields, fit, strict=True)))
    y = scaled_again(flat, weight, bias, step.y, fit, left.nonzero()[:, 0], dynamic_rows)
    return completed(y, fit, state, solver_totals)


def scaled_again(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    y: Tensor,
    fit: Fit,
    channels: Tensor,
    dynamic_rows: bool,
) -> Tensor:
    """Recompute y for the channels whose search continued, or for all if they are many."""
    if len(channels) * 4 > len(fit.mu):
        scaled: Tensor = SCALE(flat, fit.mu, fit.scale, weight, bias, dynamic_rows=dynamic_rows)
        return scaled
    return scale_channels(flat, weight, bias, y, fit, channels)


def scale_channels(
    flat: Tensor, weight: Tensor | None, bias: Tensor | None, y: Tensor, fit: Fit, channels: Tensor
) -> Tensor:
    gamma, beta = (None if t is None else t[channels] for t in (weight, bias))
    some = scale_and_shift(flat.index_select(1, channels), fit.mu[channels], fit.scale[channels], gamma, beta)
    return y.index_copy_(1, channels, some)


def search_and_test(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, options: SolverOptions, dynamic_rows: bool
) -> tuple[SearchState, Fit]:
    """Search pass by pass, for all channels while many are left or the data is small, then for the rest alone.  Errors
    are in standard deviations.  Reads values, so only on a CPU."""
    once = options._replace(steps=1)
    for _ in range(MOST_TESTS):
        left = int((~state.done).sum())
        if left == 0 or (left * FEW_CHANNELS <= state.done.numel() and flat.numel() > FEW_ELEMENTS):
            break
        state = SearchState(*MORE(flat, phi, *problem, *state, options=once, dynamic_rows=dynamic_rows))
    state = search_for_few(flat, phi, problem, state, once)
    alone = ~state.done
    if bool(squares_out_of_range(problem).any()):
        alone = alone | lost_but_not_equal(flat, problem)
    state, fit = errors_in_deviations(problem, state), fit_about(problem, state.y, options.eps)
    channels = alone.nonzero()[:, 0]
    return solve_uncertified(flat, phi, state, fit, channels, options) if len(channels) else (state, fit)


def search_for_few(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: SearchState, options: SolverOptions
) -> SearchState:
    """Search pass by pass over the data of the uncertified channels only."""
    channels = (~state.done).nonzero()[:, 0]
    if not len(channels):
        return state
    data, power = channel_by_channel(flat, channels), None if phi is None else phi[channels]
    of_some, some = Problem(*(t[channels] for t in problem)), SearchState(*(t[channels] for t in state))
    for _ in range(MOST_TESTS):
        if bool(some.done.all()):
            break
        some = SearchState(*more_passes(data, power, *of_some, *some, options=options))
    return SearchState(*replaced(state, channels, some))


def channel_by_channel(flat: Tensor, channels: Tensor) -> Tensor:
    """Some channels as columns (1, channels, values): each is contiguous, so its sums are fast."""
    return flat.index_select(1, channels).transpose(0, 1).reshape(1, len(channels), -1)


def solve_uncertified(
    flat: Tensor, phi: Tensor | None, state: SearchState, fit: Fit, channels: Tensor, options: SolverOptions
) -> tuple[SearchState, Fit]:
    """Solve some channels in float64."""
    power = options.phi if phi is None else phi[channels].double()
    assert power is not None
    accuracy = ACCURACY[state.y.dtype]
    some = SearchState(*(t[channels] for t in state))
    some, fit_of_some = solve_in_float64(flat.index_select(1, channels), power, some, options)
    some = some._replace(error=some.error.clamp_min(accuracy.tolerance + accuracy.floor))
    return SearchState(*replaced(state, channels, some)), Fit(*replaced(fit, channels, fit_of_some))


def compile_ahead(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    options: SolverOptions,
) -> None:
    """Compile the kernels that a continued search would use for a tensor like this one."""
    flat, dynamic_rows = to_columns(x), x.ndim == 2
    if native.computes(flat) or not reads_without_sync(flat):
        return
    _, *found = FORWARD(
        flat, weight, bias, phi, offset, center, solver_totals, options=options, dynamic_rows=dynamic_rows
    )
    cut = len(Step._fields)
    MORE(flat, phi, *found[cut:], options=options._replace(steps=1), dynamic_rows=dynamic_rows)
    step = Step(*found[:cut])
    SCALE(flat, step.mu, step.scale, weight, bias, dynamic_rows=dynamic_rows)
