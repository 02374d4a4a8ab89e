"""The generalized geometric median alone: mu = argmin_y sum |x_i - y|^phi, differentiable in x and phi.

phi = 1 is the median, 2 the mean, infinity the mid-range.  At the minimum sum d w = 0 with d = x - mu and
w = |d|^(phi-2), hence

    dmu/dx_i = w_i / sum w                                   (they sum to 1; sum x_i dmu/dx_i = mu)
    dmu/dphi = sum d w ln|d| / ((phi-1) sum w)

The papers print the first with a minus (E2), the second off by the factor phi (E5), and Newton's step with the wrong
sign (E1).  |d| is kept above a floor of 1e-12 standard deviations: values at mu then share the gradient equally, and no
weight is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._compile import reads_without_sync
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    MOST_ROUNDS,
    TINY,
    check_phi,
    parse_solver,
    solve_columns,
    weights,
)

LEAST_PHI = 1.0 + 1e-3  # phi as a tensor: nearer to 1 the minimum is not unique to within rounding


class Found(NamedTuple):
    """The median and how it was found, a number a column."""

    mu: Tensor
    iterations: Tensor
    converged: Tensor
    error: Tensor  # bound, in standard deviations


def generalized_median(
    x: Tensor,
    phi: float | Tensor,
    dim: int | Sequence[int] = 0,
    *,
    keepdim: bool = False,
    solver: str = "safe",
    start: Tensor | None = None,
) -> Tensor:
    """mu over ``dim`` (one or several), for one phi or a tensor of phi, one for each remaining element (broadcast).

    solver: ``safe`` (bracketed, to the last digits) or ``newton:iterations=4`` (the papers' iteration).
    start: where the search begins; a bad start costs steps, never the answer.
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


def median_of_columns(x: Tensor, phi: float | Tensor, solver: str = "safe", start: Tensor | None = None) -> Found:
    """The same for a matrix, with the search's own account of itself."""
    iterations = parse_solver(solver)
    if not len(x):
        raise ValueError("the median of no values is not defined: give at least one")
    if isinstance(phi, Tensor):
        if reads_without_sync(phi):
            extreme = (phi <= LEAST_PHI) | torch.isinf(phi)
            if bool(extreme.any()):  # a few columns of each kind
                return _by_kind(x, phi, extreme, solver, start)
    else:
        phi = float(phi)
        check_phi(phi)
        if phi in (1.0, float("inf")):
            mu = _Ends.apply(x, phi == 1.0)
            return Found(mu, torch.zeros_like(mu), torch.isfinite(mu), torch.zeros_like(mu))
        if phi < LEAST_PHI:
            phi = LEAST_PHI
    tensor = phi if isinstance(phi, Tensor) else None
    return Found(*_Median.apply(x, tensor, None if tensor is not None else phi, iterations, start))


def _by_kind(x: Tensor, phi: Tensor, extreme: Tensor, solver: str, start: Tensor | None) -> Found:
    parts = []
    for j in range(x.shape[1]):
        value: float | Tensor = float(phi[j]) if bool(extreme[j]) else phi[j : j + 1]
        parts.append(median_of_columns(x[:, j : j + 1], value, solver, None if start is None else start[j : j + 1]))
    return Found(*(torch.cat(column) for column in zip(*parts, strict=True)))


class _Median(torch.autograd.Function):
    """1 < phi < infinity.  Solved in float64: a power of a small difference needs the digits."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, phi: Tensor | None, power: float | None, iterations: int | None, start: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        values = x.double()
        exponent = power if phi is None else phi.double().clamp_min(LEAST_PHI)
        assert exponent is not None
        state, _, spread = solve_columns(
            values,
            exponent,
            None if start is None else start.double(),
            ACCURACY[torch.float64],
            MOST_ROUNDS if iterations is None else iterations,
            plain=iterations is not None,
            look=reads_without_sync(x),
        )
        ctx.save_for_backward(x, phi, state.y, (spread * ACCURACY[torch.float64].floor).clamp_min(TINY))
        ctx.power = power
        mu = state.y.to(x.dtype)
        ctx.mark_non_differentiable(state.iterations, state.done, state.error)
        return mu, state.iterations, state.done, state.error

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, phi, mu, floor = ctx.saved_tensors
        exponent = ctx.power if phi is None else phi.double().clamp_min(LEAST_PHI)
        d = x.double() - mu
        distance = torch.maximum(d.abs(), floor)
        unit = distance.amax(0)
        w = weights(distance, exponent, unit)
        share = grad.double() / w.sum(0)
        dphi = None
        if phi is not None:
            dphi = (share * (d * w * (distance / unit).log()).sum(0) / (exponent - 1)).to(phi.dtype)
        return (w * share).to(x.dtype), dphi, None, None, None


class _Ends(torch.autograd.Function):
    """phi = 1 and infinity: half way between two values, the middle ones or the extremes.  Values tied with either
    share its half of the gradient."""

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
