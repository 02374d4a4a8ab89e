"""The generalized geometric median as a function: mu = argmin_y sum |x_i - y|^phi, differentiable in x and phi.

phi = 1 is the median, 2 the mean, infinity the mid-range.  At the minimum sum d w = 0 with d = x - mu and
w = |d|^(phi-2), hence

    dmu/dx_i = w_i / sum w                                   (they sum to 1; sum x_i dmu/dx_i = mu)
    dmu/dphi = sum d w ln|d| / ((phi-1) sum w)

The papers print the first with a minus (E2), the second off by the factor phi (E5), and Newton's step with the wrong
sign (E1).  |d| is kept above a floor of 1e-12 standard deviations: values at mu then share the gradient equally, and no
weight is infinite.

The median is equivariant to shifts and to scales of any size that the dtype can represent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.device import back_from_float64, in_float64
from normbench_cli.norms._compile_policy import reads_without_sync
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    MAX_STEPS,
    MedianResult,
    check_phi,
    parse_solver,
    solve_columns,
    weights,
)

SMALLEST_PHI = 1.0 + 1e-3  # phi as a tensor: nearer to 1 the minimum is not unique to within rounding


def generalized_median(
    x: Tensor,
    phi: float | Tensor,
    dim: int | Sequence[int] = 0,
    *,
    keepdim: bool = False,
    solver: str = "safe",
    start: Tensor | None = None,
) -> Tensor:
    """mu over ``dim`` (one or several).

    phi: a number, or a tensor that broadcasts to the shape that remains, one phi for each median
    keepdim: keep the reduced dimensions with size 1
    solver: ``safe`` (bracketed, to the last digits) or ``newton:iterations=4`` (the papers' iteration)
    start: where the search begins, shaped like phi; a bad start costs steps and changes nothing else
    """
    dims = sorted({d % x.ndim for d in ([dim] if isinstance(dim, int) else dim)})
    flat = x.movedim(dims, list(range(len(dims)))).flatten(0, len(dims) - 1)
    rest = flat.shape[1:]
    matrix = flat.reshape(len(flat), -1)
    if isinstance(phi, Tensor):
        phi = phi.expand(rest).reshape(-1) if phi.ndim else phi.expand(matrix.shape[1])
    mu = median_of_columns(matrix, phi, solver, None if start is None else start.expand(rest).reshape(-1)).mu
    shape = [1 if i in dims else n for i, n in enumerate(x.shape)] if keepdim else rest
    return mu.reshape(shape)


def median_of_columns(
    x: Tensor, phi: float | Tensor, solver: str = "safe", start: Tensor | None = None
) -> MedianResult:
    """The same for a matrix x (values, C), phi a number or (C), with the solver's statistics: (C) each."""
    iterations = parse_solver(solver)
    if not len(x):
        raise ValueError("the median of no values is not defined: give at least one")
    if isinstance(phi, Tensor):
        if reads_without_sync(phi):
            for outside in phi[~((phi >= 1) & (phi <= 16) | torch.isinf(phi))].tolist():
                check_phi(outside)
            extreme = (phi <= SMALLEST_PHI) | torch.isinf(phi)
            if bool(extreme.any()):
                return _column_by_column(x, phi, extreme, solver, start)
        return _median(x, phi, None, iterations, start)
    phi = float(phi)
    check_phi(phi)
    if phi in (1.0, float("inf")):
        mu: Tensor = _MidPoint.apply(x, phi == 1.0)  # type: ignore[no-untyped-call]
        return MedianResult(mu, torch.zeros_like(mu), torch.isfinite(mu), torch.zeros_like(mu))
    return _median(x, None, max(phi, SMALLEST_PHI), iterations, start)


def _column_by_column(x: Tensor, phi: Tensor, extreme: Tensor, solver: str, start: Tensor | None) -> MedianResult:
    """Solve each column alone, since some of phi (C) are `extreme`: 1 or infinity, which need no search."""
    results = []
    for j in range(x.shape[1]):
        value: float | Tensor = float(phi[j].detach()) if bool(extreme[j]) else phi[j : j + 1]
        results.append(median_of_columns(x[:, j : j + 1], value, solver, None if start is None else start[j : j + 1]))
    return MedianResult(*(torch.cat(column) for column in zip(*results, strict=True)))


def _median(
    x: Tensor, phi: Tensor | None, constant_phi: float | None, iterations: int | None, start: Tensor | None
) -> MedianResult:
    return MedianResult(*_Median.apply(x, phi, constant_phi, iterations, start))  # type: ignore[no-untyped-call]


class _Median(torch.autograd.Function):
    """1 < phi < infinity, for x (values, C).  Solved in float64: a power of a small difference needs the digits."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        phi: Tensor | None,
        constant_phi: float | None,
        iterations: int | None,
        start: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        exponent = constant_phi if phi is None else in_float64(phi).clamp_min(SMALLEST_PHI)
        assert exponent is not None
        wide = in_float64(x)
        state, _, _, floor = solve_columns(
            wide,
            exponent,
            None if start is None else in_float64(start),
            ACCURACY[torch.float64],
            MAX_STEPS if iterations is None else iterations,
            plain=iterations is not None,
            stop_early=reads_without_sync(wide),
        )
        ctx.save_for_backward(x, phi, state.y, floor)
        ctx.constant_phi = constant_phi
        iterations_done, done, error = (
            back_from_float64(each, x.device) for each in (state.iterations, state.done, state.error)
        )
        ctx.mark_non_differentiable(iterations_done, done, error)
        return state.y.to(x), iterations_done, done, error

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, phi, mu, floor = ctx.saved_tensors
        exponent = ctx.constant_phi if phi is None else in_float64(phi).clamp_min(SMALLEST_PHI)
        d = in_float64(x) - mu
        distance = torch.maximum(d.abs(), floor)
        unit = distance.amax(0)
        w = weights(distance, exponent, unit)
        dmu_per_weight = in_float64(grad) / w.sum(0)
        dphi = None
        if phi is not None:
            dphi = (dmu_per_weight * (d * w * (distance / unit).log()).sum(0) / (exponent - 1)).to(phi)
        return (w * dmu_per_weight).to(x), dphi, None, None, None


class _MidPoint(torch.autograd.Function):
    """phi = 1 and infinity, for x (values, C): the mid-point of the two middle values, or of the extremes.  Values
    equal to either share its half of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, median: bool) -> Tensor:
        m = len(x)
        if median:
            ordered = x.sort(dim=0).values
            low, high = ordered[(m - 1) // 2], ordered[m // 2]
        else:
            low, high = x.amin(0), x.amax(0)
        ctx.save_for_backward(x, low, high)
        mu = low / 2 + high / 2
        broken = ~torch.isfinite(x).all(0)
        return torch.where(low == high, low, mu).masked_fill(broken, torch.nan)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        x, low, high = ctx.saved_tensors
        at_low, at_high = (x == low).to(x.dtype), (x == high).to(x.dtype)
        return grad / 2 * (at_low / at_low.sum(0) + at_high / at_high.sum(0)), None
