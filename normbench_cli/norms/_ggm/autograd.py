"""Normalization about the generalized geometric median as one autograd function.

The passes of `kernels.py` and `gradient.py` are compiled where that pays.  On a CPU, where reading a value costs
nothing, the search continues for channels that the first steps did not solve (`solve_remaining`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns, to_columns_like
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import SEARCHED_MATRIX, reads_without_sync
from normbench_cli.norms._ggm.gradient import backward_pass
from normbench_cli.norms._ggm.kernels import (
    Fit,
    ForwardPass,
    Problem,
    SolverOptions,
    continue_search,
    fit_about,
    forward_pass,
    scale_and_shift,
    squares_out_of_range,
)
from normbench_cli.norms._ggm.solver import ACCURACY, MAX_STEPS, SearchState, solve_columns
from normbench_cli.norms._ggm.stats import SolverTotals, add_call

FEW_ELEMENTS = 2**18  # for fewer, steps for all channels in one kernel cost less than selecting a few
STEPS_PER_TEST = 4  # between two convergence tests
MOST_TESTS = 5  # before the remaining channels are solved alone

FORWARD = InductorKernel(forward_pass, SEARCHED_MATRIX)
CONTINUE = InductorKernel(continue_search, SEARCHED_MATRIX)
SCALE = InductorKernel(scale_and_shift, SEARCHED_MATRIX)
BACKWARD = InductorKernel(backward_pass, SEARCHED_MATRIX)


def normalize_about_median(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    solver_totals: Tensor,
    options: SolverOptions,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return y, mu, sigma^2, the new offset and the new solver totals.

    x, y: (N, C, ...); phi: (C), or None if it is a constant of the options; offset: (mu - mean) / sd of the previous
    batch, where the search starts; solver_totals: (5); all others (C).  y is differentiable in x, weight, bias and phi.
    """
    results: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = NormalizeAboutMedian.apply(  # type: ignore[no-untyped-call]
        x, weight, bias, phi, offset, solver_totals, options
    )
    return results


class NormalizeAboutMedian(torch.autograd.Function):
    """Saved for backward: x in columns (shared with x where memory allows), five tensors of (C), gamma and phi."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        offset: Tensor,
        solver_totals: Tensor,
        options: SolverOptions,
    ) -> tuple[Tensor, ...]:
        flat, dynamic_rows = to_columns(x), x.ndim == 2
        found = ForwardPass.unflatten(
            FORWARD(flat, weight, bias, phi, offset, solver_totals, options=options, dynamic_rows=dynamic_rows)
        )
        if reads_without_sync(flat) and not bool(found.enough):
            found = finish_forward(found, flat, weight, bias, phi, solver_totals, options, dynamic_rows)
        fit = found.fit
        ctx.save_for_backward(flat, weight, fit.mean, fit.mu, fit.scale, fit.floor, phi)
        ctx.options, ctx.has_bias = options, bias is not None
        ctx.mark_non_differentiable(fit.mu, fit.var, fit.offset, found.solver_totals)
        return detach_view(from_columns(found.y, x)), fit.mu, fit.var, fit.offset, found.solver_totals

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        return (*normalization_backward(ctx, grad, BACKWARD), None, None, None)


def normalization_backward(ctx: Any, grad: Tensor, kernel: Callable[..., Any]) -> tuple[Tensor | None, ...]:
    """The gradients of x, weight, bias and phi; kernel: `gradient.backward_pass`, compiled or not."""
    flat, weight, mean, mu, scale, floor, phi = ctx.saved_tensors
    dy = to_columns_like(grad, flat)
    dx, dweight, dbias, dphi = kernel(
        dy, flat, weight, mean, mu, scale, floor, phi, options=ctx.options, dynamic_rows=grad.ndim == 2
    )
    return (
        from_columns(dx, grad),
        None if weight is None else dweight.to(weight.dtype),
        dbias if ctx.has_bias else None,
        None if phi is None else dphi,
    )


def finish_forward(
    found: ForwardPass,
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    solver_totals: Tensor,
    options: SolverOptions,
    dynamic_rows: bool,
) -> ForwardPass:
    """Complete the forward pass for channels that its first steps did not solve.  Only the output of these channels is
    recomputed, unless they are many."""
    lost = lost_but_not_equal(flat, found.problem)
    again = lost if options.plain else lost | ~found.state.done
    channels = again.nonzero()[:, 0]
    if not len(channels):
        return found
    state, fit = solve_remaining(flat, phi, found, lost, options, dynamic_rows)
    if len(channels) * 4 > len(again):
        y = SCALE(flat, fit.mu, fit.scale, weight, bias, dynamic_rows=dynamic_rows)
    else:
        gamma, beta = (None if t is None else t[channels] for t in (weight, bias))
        some = scale_and_shift(flat.index_select(1, channels), fit.mu[channels], fit.scale[channels], gamma, beta)
        y = found.y.index_copy_(1, channels, some)
    totals = add_call(solver_totals, state.iterations, state.done, state.error.nan_to_num(torch.inf))
    return found._replace(y=y, solver_totals=totals, fit=fit, state=state)


def lost_but_not_equal(flat: Tensor, problem: Problem) -> Tensor:
    """Bool (C): channels whose squares over- or underflow although their values differ."""
    lost = squares_out_of_range(problem)
    channels = lost.nonzero()[:, 0]
    if len(channels):
        values = flat.index_select(1, channels)
        axes = (0, 2) if flat.ndim == 3 else 0
        lost[channels] = values.amin(axes) != values.amax(axes)
    return lost


def solve_remaining(
    flat: Tensor,
    phi: Tensor | None,
    found: ForwardPass,
    lost: Tensor,
    options: SolverOptions,
    dynamic_rows: bool,
) -> tuple[SearchState, Fit]:
    """Continue the search for all channels together while many are left or the data is small, then solve the rest
    alone, together with the channels whose squares are `lost`.  Reads values, so only on a CPU."""
    state, problem = found.state, found.problem
    more = options._replace(steps=STEPS_PER_TEST)
    for _ in range(0 if options.plain else MOST_TESTS):
        left = int((~state.done).sum())
        if left == 0 or (left * 4 <= state.done.numel() and flat.numel() > FEW_ELEMENTS):
            break
        state = SearchState(*CONTINUE(flat, phi, *problem, *state, options=more, dynamic_rows=dynamic_rows))
    fit = fit_about(problem, state.y, options.eps)
    channels = (lost if options.plain else lost | ~state.done).nonzero()[:, 0]
    if not len(channels):
        return state, fit
    power = options.phi if phi is None else phi[channels].double()
    assert power is not None
    some = SearchState(*(t[channels] for t in state))
    some, fit_of_some = solve_in_float64(flat.index_select(1, channels), power, some, options)
    return SearchState(*replaced(state, channels, some)), Fit(*replaced(fit, channels, fit_of_some))


def solve_in_float64(
    flat: Tensor, phi: float | Tensor, state: SearchState, options: SolverOptions
) -> tuple[SearchState, Fit]:
    """Solve all channels of `flat`, continuing their search; scaled, so that squares of any float32 keep their
    digits."""
    x = flat.double() if flat.ndim == 2 else flat.double().transpose(1, 2).reshape(-1, flat.shape[1])
    dtype, start = state.y.dtype, state.y.double().nan_to_num(0.0, 0.0, 0.0)
    accuracy, steps = ACCURACY[dtype], options.steps if options.plain else MAX_STEPS
    found, mean, sd, floor = solve_columns(x, phi, start, accuracy, steps, plain=options.plain, stop_early=True)
    if not options.plain:
        found = found._replace(iterations=found.iterations + state.iterations)
    # A subnormal floor may be flushed to zero.  Then, where sd < 1e-32, the gradient treats more values as ties.
    fit = fit_about(Problem(mean, sd.square(), sd, floor, sd, mean, mean), found.y, options.eps)
    return found, fit._replace(floor=fit.floor.clamp_min(torch.finfo(dtype).tiny))


def replaced(tensors: Sequence[Tensor], channels: Tensor, some: Sequence[Tensor]) -> list[Tensor]:
    """The tensors (C) with the values of some channels replaced."""
    return [whole.index_copy(0, channels, part.to(whole.dtype)) for whole, part in zip(tensors, some, strict=True)]


def compile_ahead(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, phi: Tensor | None, offset: Tensor, options: SolverOptions
) -> None:
    """Compile the kernels that `finish_forward` would use for a tensor like this one, whether or not this one needs
    them."""
    flat, dynamic_rows = to_columns(x), x.ndim == 2
    if not reads_without_sync(flat) or options.plain or options.phi == 2.0:
        return
    totals = offset.new_zeros(len(SolverTotals._fields))
    found = ForwardPass.unflatten(
        FORWARD(flat, weight, bias, phi, offset, totals, options=options, dynamic_rows=dynamic_rows)
    )
    more = options._replace(steps=STEPS_PER_TEST)
    CONTINUE(flat, phi, *found.problem, *found.state, options=more, dynamic_rows=dynamic_rows)
    SCALE(flat, found.fit.mu, found.fit.scale, weight, bias, dynamic_rows=dynamic_rows)
