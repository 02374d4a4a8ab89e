"""Normalization about the generalized geometric median as one step for autograd: the passes compiled where that pays,
and on a CPU a search that goes on where the first steps were not enough."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns, to_columns_like
from normbench_cli.norms._compile import InductorKernel, reads_without_sync
from normbench_cli.norms._ggm.kernels import (
    Fit,
    Plan,
    Problem,
    apply,
    backward_pass,
    finish,
    forward_pass,
    more_rounds,
    record_of,
)
from normbench_cli.norms._ggm.solver import ACCURACY, MOST_ROUNDS, TINY, State, solve_columns

FEW = 2**18  # elements: below, steps for all channels in one kernel cost less than picking out a few
STEPS_MORE = 4  # between two looks at whether the search is done
FORWARD, MORE, APPLY, BACKWARD = (InductorKernel(f) for f in (forward_pass, more_rounds, apply, backward_pass))


def rescue(
    flat: Tensor, phi: Tensor | None, problem: Problem, state: State, plan: Plan, dynamic_rows: bool
) -> tuple[State, Fit]:
    """Go on where the first steps were not enough: all channels together while many are left or the data are few,
    then those few alone in float64, where no square of a float32 overflows.  Looks at the data, so for a CPU."""
    plan = plan._replace(rounds=STEPS_MORE)
    for _ in range(5):
        left = int((~state.done).sum())
        if left == 0 or (left * 4 <= state.done.numel() and flat.numel() > FEW):
            break
        state = State(*MORE(flat, phi, *problem, *state, plan=plan, dynamic_rows=dynamic_rows))
    fit = finish(problem, state.y, plan.eps)
    index = (~state.done).nonzero()[:, 0]
    if not len(index):
        return state, fit
    x = flat.index_select(1, index).double()
    x = x if x.ndim == 2 else x.transpose(1, 2).reshape(-1, len(index))
    power = plan.phi if phi is None else phi[index].double()
    assert power is not None
    start = state.y[index].double().nan_to_num(0.0, 0.0, 0.0)
    accuracy = ACCURACY[problem.mean.dtype]
    found, mean, spread = solve_columns(x, power, start, accuracy, MOST_ROUNDS, plain=False, look=True)
    exact = Problem(mean, spread.square(), spread, (spread * accuracy.floor).clamp_min(TINY), spread, mean, mean)
    for whole, part in zip(fit, finish(exact, found.y, plan.eps), strict=True):
        whole[index] = part.to(whole.dtype)
    state.done[index], state.error[index] = found.done, found.error.to(state.error.dtype)
    state.iterations[index] += found.iterations.to(state.iterations.dtype)
    return state, fit


def compile_ahead(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, phi: Tensor | None, offset: Tensor, plan: Plan
) -> None:
    """Compile what the rescue would use for a tensor like this one, whether or not this one needs it."""
    flat, vary = to_columns(x), x.ndim == 2
    if not reads_without_sync(flat) or plan.plain or plan.phi == 2.0:
        return
    _, _, _, *rest = FORWARD(flat, weight, bias, phi, offset, offset.new_zeros(5), plan=plan, dynamic_rows=vary)
    MORE(flat, phi, *rest[6:], plan=plan._replace(rounds=STEPS_MORE), dynamic_rows=vary)
    APPLY(flat, rest[0], rest[2], weight, bias, dynamic_rows=vary)


class Normalize(torch.autograd.Function):
    """x, gamma, beta, phi -> y, and (without gradient) mu, sigma^2, the offset and the solver's record."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        offset: Tensor,
        record: Tensor,
        plan: Plan,
    ) -> tuple[Tensor, ...]:
        flat = to_columns(x)
        y, new_record, all_done, *rest = FORWARD(
            flat, weight, bias, phi, offset, record, plan=plan, dynamic_rows=x.ndim == 2
        )
        fit, problem, state = Fit(*rest[:6]), Problem(*rest[6:13]), State(*rest[13:])
        if reads_without_sync(flat) and not plan.plain and not bool(all_done):
            before = state.done
            state, fit = rescue(flat, phi, problem, state._replace(done=before.clone()), plan, x.ndim == 2)
            new_record = record_of(record, state)
            left = (~before).nonzero()[:, 0]
            if len(left) * 4 > len(before):
                y = APPLY(flat, fit.mu, fit.scale, weight, bias, dynamic_rows=x.ndim == 2)
            else:
                gamma, beta = (None if t is None else t[left] for t in (weight, bias))
                those = apply(flat.index_select(1, left), fit.mu[left], fit.scale[left], gamma, beta)
                y.index_copy_(1, left, those)
        ctx.save_for_backward(flat, weight, fit.mean, fit.mu, fit.scale, fit.floor, phi)
        ctx.plan, ctx.has_bias, ctx.shape = plan, bias is not None, x.shape
        ctx.mark_non_differentiable(fit.mu, fit.var, fit.offset, new_record)
        return detach_view(from_columns(y, x)), fit.mu, fit.var, fit.offset, new_record

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        flat, weight, mean, mu, scale, floor, phi = ctx.saved_tensors
        dy = to_columns_like(grad, flat)
        dx, dweight, dbias, dphi = BACKWARD(
            dy, flat, weight, mean, mu, scale, floor, phi, plan=ctx.plan, dynamic_rows=grad.ndim == 2
        )
        dx = from_columns(dx, grad)
        return (
            dx,
            None if weight is None else dweight.to(weight.dtype),
            dbias if ctx.has_bias else None,
            None if phi is None else dphi,
            None,
            None,
            None,
        )
