"""The C++ kernels of `graphs.cpp`, called with tensors: normalization about the median of each graph of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._ggm.stats import SolverTotals
from normbench_cli.norms._native.columns import addresses, array_of, as_floats, computes, exponents, loaded, phi_is_root


class Normalized(NamedTuple):
    y: Tensor
    solver_totals: Tensor
    largest_error: Tensor  # the largest error bound of this call, in standard errors


class NativeGraphOptions(NamedTuple):
    eps: float
    tol: float


def normalize_graphs(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    alpha: Tensor,
    phi: Tensor | float,
    first: Tensor,
    solver_totals: Tensor,
    options: NativeGraphOptions,
) -> Normalized | None:
    """Return y (rows, C), differentiable in x, weight, bias, alpha and phi.  None if the kernels do not support the
    data, or values must be scaled first.

    first: the first row of each graph, and the number of rows
    """
    if not computes(x.detach()) or x.dtype != torch.float32:
        return None
    with torch.no_grad():
        found = forward(x, weight, bias, alpha, phi, first, solver_totals, options)
    if found is None:
        return None
    y, statistics, totals, largest = found
    tensors = x, weight, bias, alpha, phi if isinstance(phi, Tensor) else None
    output = _Normalize.apply(*tensors, y, statistics, first, phi)  # type: ignore[no-untyped-call]
    return Normalized(output, totals, largest)


def forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    alpha: Tensor,
    phi: Tensor | float,
    first: Tensor,
    solver_totals: Tensor,
    options: NativeGraphOptions,
) -> tuple[Tensor, list[Tensor], Tensor, Tensor] | None:
    """y; mean, mu, scale, floor and unit of each graph; the new totals; the largest error in standard errors."""
    x, (graphs, channels) = x.contiguous(), (len(first) - 1, x.shape[1])
    y, counts = torch.empty_like(x), torch.empty(6, dtype=torch.float64)
    statistics = [torch.zeros(graphs, channels) for _ in range(5)]
    parameters = as_floats(weight, bias, alpha, exponents(phi, channels))
    extreme = loaded().normbench_graphs_forward(
        *(graphs, channels, *addresses(first), phi_is_root(phi), *addresses(x, y), array_of(parameters)),
        *(options.eps, options.tol, array_of(statistics), *addresses(counts), torch.get_num_threads()),
    )
    if extreme:
        return None
    number, passes, most, unconverged, error, in_standard_errors = counts.tolist()
    old = SolverTotals(*solver_totals.tolist())
    new = SolverTotals(
        calls=old.calls + 1,
        mean_iterations=old.mean_iterations + passes / number,
        max_iterations=max(old.max_iterations, most),
        unconverged=old.unconverged + unconverged / number,
        max_error=max(old.max_error, error),
    )
    return y, statistics, solver_totals.new_tensor(new), solver_totals.new_tensor(in_standard_errors)


class _Normalize(torch.autograd.Function):
    """Saved for backward: x, the parameters, and five values per graph and feature."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        alpha: Tensor,
        learned: Tensor | None,
        y: Tensor,
        statistics: list[Tensor],
        first: Tensor,
        phi: Tensor | float,
    ) -> Tensor:
        ctx.save_for_backward(x, weight, bias, alpha, learned, *statistics)
        ctx.first, ctx.phi = first, None if learned is not None else phi
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, alpha, learned, *statistics = ctx.saved_tensors
        phi, x, dy = ctx.phi if learned is None else learned, x.contiguous(), grad.contiguous()
        channels = x.shape[1]
        dx, gradients = torch.empty_like(x), torch.empty(4, channels)
        parameters = as_floats(weight, bias, alpha, exponents(phi, channels))
        loaded().normbench_graphs_backward(
            *(len(ctx.first) - 1, channels, *addresses(ctx.first), phi_is_root(phi), learned is not None),
            *(*addresses(dy, x, dx), array_of(parameters), array_of(statistics)),
            *(*addresses(gradients), torch.get_num_threads()),
        )
        dweight, dbias, dalpha, dphi = gradients.unbind()
        return dx, dweight, dbias, dalpha, None if learned is None else dphi, None, None, None, None
