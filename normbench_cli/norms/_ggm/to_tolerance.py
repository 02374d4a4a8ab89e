"""Normalization about the generalized geometric median to a tolerance, as one autograd function."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm.autograd import normalization_backward
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.operators import backward_operator, forward_operator
from normbench_cli.norms._ggm.passes import Step
from normbench_cli.norms._ggm.step_before import StepBefore
from normbench_cli.norms._ggm.tolerant import forward_step, normalization_gradient


class Normalized(NamedTuple):
    """As in `Step`, y in the shape of x."""

    y: Tensor
    mu: Tensor
    var: Tensor
    offset: Tensor
    solver_totals: Tensor
    largest_error: Tensor
    certified: Tensor


def normalize_to_tolerance(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    options: SolverOptions,
    options_as_text: str,
    step_before: StepBefore,
    failures: Tensor,
) -> Normalized:
    """x: (N, C, ...); phi: (C), or None where it is a constant of the options; offset, center: (mu - mean) / sd and mu
    of the batch before; solver_totals: (5); options_as_text: the same options, for an operator; failures: (), of
    `step_before`, which it changes.  Differentiable: y in x, weight, bias and phi."""
    blind = not (torch.compiler.is_compiling() or reads_without_sync(x))
    if blind:
        options = options._replace(steps=step_before.passes(options.steps, failures))
    found = Normalized(*_Normalize.apply(x, weight, bias, phi, offset, center, solver_totals, options, options_as_text))  # type: ignore[no-untyped-call]
    if blind:
        step_before.report(failures, found.certified)
    return found


def as_operators(x: Tensor) -> bool:
    """A compiler would look into the search, and could not ask whether it is done."""
    return torch.compiler.is_compiling() and x.device.type == "cpu"


class _Normalize(torch.autograd.Function):
    """Saved for backward: x in columns (shared with x where memory allows), four tensors of (C), gamma and phi."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        offset: Tensor,
        center: Tensor,
        solver_totals: Tensor,
        options: SolverOptions,
        options_as_text: str,
    ) -> tuple[Tensor, ...]:
        flat, dynamic_rows = to_columns(x), x.ndim == 2
        tensors = flat, weight, bias, phi, offset, center, solver_totals
        if as_operators(flat):
            step = Step(*forward_operator(*tensors, options_as_text, dynamic_rows))
        else:
            step = forward_step(*tensors, options=options, dynamic_rows=dynamic_rows)
        ctx.save_for_backward(flat, weight, step.mean, step.mu, step.scale, step.floor, phi)
        ctx.options, ctx.options_as_text, ctx.has_bias = options, options_as_text, bias is not None
        others = step.mu, step.var, step.offset, step.solver_totals, step.largest_error, step.certified
        ctx.mark_non_differentiable(*others)
        return detach_view(from_columns(step.y, x)), *others

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        kernel = partial(backward_columns, options_as_text=ctx.options_as_text)
        return (*normalization_backward(ctx, grad, kernel), *[None] * 5)


def backward_columns(*tensors: Tensor | None, options: SolverOptions, dynamic_rows: bool, options_as_text: str) -> Any:
    """`gradient.backward_pass`, compiled or as an operator."""
    first = tensors[0]
    assert first is not None
    if as_operators(first):
        return backward_operator(*tensors, options_as_text, dynamic_rows)
    return normalization_gradient(*tensors, options=options, dynamic_rows=dynamic_rows)
