"""Normalization about the generalized geometric median to a tolerance, differentiable."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm import on_cpu
from normbench_cli.norms._ggm.autograd import normalization_backward
from normbench_cli.norms._ggm.buffers import SolverBuffers
from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.operators import backward_operator, forward_operator
from normbench_cli.norms._ggm.pass_scheduler import PassScheduler
from normbench_cli.norms._ggm.tolerant import BACKWARD, forward_step
from normbench_cli.norms._native.columns import dense


def normalize_to_tolerance(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    buffers: SolverBuffers,
    options: SolverOptions,
    options_as_text: str,
    pass_scheduler: PassScheduler,
    failures: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return y, mu and sigma^2.

    x, y: (N, C, ...); phi: (C), or None if it is a constant of the options; mu, sigma^2: (C); buffers: updated in
    place; options_as_text: the same options, for an operator; failures: (), updated by `pass_scheduler`.  y is
    differentiable in x, weight, bias and phi.
    """
    tensors = x, weight, bias, phi
    if reads_without_sync(x):
        y, fit = _NormalizeOnCPU.apply(*tensors, buffers, options)  # type: ignore[no-untyped-call]
        return y, fit[0], fit[1]
    if torch.compiler.is_compiling() and x.device.type == "cpu":
        found, fit = forward_operator(*(t if t is None else t.detach() for t in tensors), *buffers, options_as_text)
        y = _Differentiable.apply(found, fit, *tensors, options_as_text)  # type: ignore[no-untyped-call]
        return y, fit[0], fit[1]
    blind = not torch.compiler.is_compiling()
    if blind:
        options = options._replace(steps=pass_scheduler.passes(options.steps, failures))
    y, mu, var, certified, *new = _Normalize.apply(*tensors, *buffers, options)  # type: ignore[no-untyped-call]
    buffers.update(new)
    if blind:
        pass_scheduler.report(failures, certified)
    return y, mu, var


class _NormalizeOnCPU(torch.autograd.Function):
    """Updates the buffers.  Saved for backward: x, a tensor of (6, C), gamma and phi."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        buffers: SolverBuffers,
        options: SolverOptions,
    ) -> tuple[Tensor, Tensor]:
        x = dense(x)
        y, fit = on_cpu.forward(x, weight, bias, phi, buffers, options)
        ctx.save_for_backward(x, weight, fit, phi)
        ctx.options, ctx.has_bias = options, bias is not None
        ctx.mark_non_differentiable(fit)
        return y, fit

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, fit, phi = ctx.saved_tensors
        dx, dweight, dbias, dphi = on_cpu.backward(grad, x, weight, fit, phi, ctx.options)
        return dx, None if weight is None else dweight, dbias if ctx.has_bias else None, dphi, None, None


class _Differentiable(torch.autograd.Function):
    """Adds the gradient to the result of `forward_operator`, which updates buffers and so cannot be called inside an
    `autograd.Function` in a compiled model."""

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        fit: Tensor,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        options_as_text: str,
    ) -> Tensor:
        ctx.save_for_backward(x, weight, fit, phi)
        ctx.options_as_text, ctx.has_bias = options_as_text, bias is not None
        return y.view_as(y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, fit, phi = ctx.saved_tensors
        dx, dweight, dbias, *dphi = backward_operator(grad, x, weight, fit, phi, ctx.options_as_text)
        gradients = dx, None if weight is None else dweight, dbias if ctx.has_bias else None
        return None, None, *gradients, dphi[0] if dphi else None, None


class _Normalize(torch.autograd.Function):
    """On an accelerator, or traced for one.  Saved for backward: x in columns (shared with x where memory allows), four
    tensors of (C), gamma and phi."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        phi: Tensor | None,
        start: Tensor,
        center: Tensor,
        solver_totals: Tensor,
        largest_error: Tensor,
        options: SolverOptions,
    ) -> tuple[Tensor, ...]:
        flat, dynamic_rows = to_columns(x), x.ndim == 2
        tensors = flat, weight, bias, phi, start, center, solver_totals
        step = forward_step(*tensors, options=options, dynamic_rows=dynamic_rows)
        ctx.save_for_backward(flat, weight, step.mean, step.mu, step.scale, step.floor, phi)
        ctx.options, ctx.has_bias = options, bias is not None
        new = SolverBuffers(start, center, solver_totals, largest_error).after(step)
        ctx.mark_non_differentiable(step.mu, step.var, step.certified, *new)
        return detach_view(from_columns(step.y, x)), step.mu, step.var, step.certified, *new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        return (*normalization_backward(ctx, grad, BACKWARD), *[None] * 5)
