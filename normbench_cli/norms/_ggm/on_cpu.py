"""Forward and backward pass with a tolerance on a CPU: by the C++ kernels if they support the data, else by those of
`tolerant.py`.

The statistics of all channels are one tensor `fit` (6, C): the fields of `Fit`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import detach_view, from_columns, to_columns, to_columns_like
from normbench_cli.norms._ggm.buffers import SolverBuffers
from normbench_cli.norms._ggm.kernels import Fit, SolverOptions, power_of
from normbench_cli.norms._ggm.passes import Step, completed
from normbench_cli.norms._ggm.solver import SearchState
from normbench_cli.norms._ggm.tolerant import BACKWARD, forward_step, scale_channels, solve_uncertified
from normbench_cli.norms._native import columns as native


def forward(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    buffers: SolverBuffers,
    options: SolverOptions,
) -> tuple[Tensor, Tensor]:
    """y and fit.  Updates the buffers."""
    x = native.dense(x)
    if native.computes(x):
        return forward_natively(x, weight, bias, phi, buffers, options)
    tensors = to_columns(x), weight, bias, phi, buffers.start, buffers.center, buffers.solver_totals
    step = forward_step(*tensors, options=options, dynamic_rows=x.ndim == 2)
    buffers.update(buffers.after(step))
    return detach_view(from_columns(step.y, x)), fit_of(step)


def forward_natively(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    buffers: SolverBuffers,
    options: SolverOptions,
) -> tuple[Tensor, Tensor]:
    """The kernels search until every channel is certified; the few that cannot be are solved alone."""
    assert options.tol is not None
    tensors = x, weight, bias, power_of(phi, options.phi), buffers
    y, fit, search, left, _ = native.forward(*tensors, eps=options.eps, tol=options.tol, above_two=options.above_two)
    if left:
        flat, found = to_columns(x), Fit(*fit)
        error, iterations, done = search
        bracket = found.mu, found.mu, found.mu, torch.full_like(found.mu, torch.inf)
        state, channels = SearchState(*bracket, done > 0, iterations, error), (done == 0).nonzero()[:, 0]
        state, found = solve_uncertified(flat, phi, state, found, channels, options)
        columns = scale_channels(flat, weight, bias, to_columns(y), found, channels)
        step = completed(columns, found, state, buffers.solver_totals)
        buffers.update(buffers.after(step))
        return detach_view(from_columns(columns, x)), fit_of(step)
    return y, fit


def fit_of(step: Step) -> Tensor:
    return torch.stack([getattr(step, name) for name in Fit._fields])


def backward(
    grad: Tensor, x: Tensor, weight: Tensor | None, fit: Tensor, phi: Tensor | None, options: SolverOptions
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """dx, dgamma, dbeta, and dphi if phi is learned."""
    x = native.dense(x)
    if native.computes(x):
        return native.backward(grad, x, weight, fit, power_of(phi, options.phi), above_two=options.above_two)
    flat, found = to_columns(x), Fit(*fit)
    tensors = to_columns_like(grad, flat), flat, weight, found.mean, found.mu, found.scale, found.floor, phi
    dx, dweight, dbias, dphi = BACKWARD(*tensors, options=options, dynamic_rows=x.ndim == 2)
    return from_columns(dx, x), dweight, dbias, dphi if phi is not None else None
