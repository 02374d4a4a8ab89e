"""Normalization about the median of each graph, as functions of padded batches that a compiler can fuse.

    s = x - alpha mu,   sigma^2 = mean s^2 = var(x) + (mean(x) - alpha mu)^2,   y = gamma s / sqrt(sigma^2 + eps) + beta

for each graph and feature.  data, grad, y: (graphs, most nodes, C), from `PaddedBatch.gather`; one value per graph and
feature: (graphs, 1, C); sizes: nodes of each graph, (graphs, 1, 1); one value per feature: (C).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from normbench_cli.norms._batch.reduce import materialize
from normbench_cli.norms._ggm.certified import (
    TargetAccuracy,
    certified_search,
    in_deviations,
    in_standard_errors,
    target_accuracy,
)
from normbench_cli.norms._ggm.kernels import power_of
from normbench_cli.norms._ggm.solver import (
    ACCURACY,
    REACH,
    TINY,
    SearchState,
    Sums,
    is_ordinary,
    search,
    start_search,
    weights,
)
from normbench_cli.norms._ggm.stats import add_call


class GraphOptions(NamedTuple):
    """The constants of a layer; hashable, since each combination has its own kernel."""

    phi: float | None  # None: a tensor, one value per feature
    eps: float
    steps: int  # per kernel call
    tol: float | None  # in standard errors; None: to the last digit


class GraphProblem(NamedTuple):
    """The statistics of the data that the search uses, (graphs, 1, C) each."""

    mean: Tensor
    var: Tensor  # biased, about the mean
    sd: Tensor
    floor: Tensor  # smaller distances count as this one
    unit: Tensor  # the unit of distances that are raised to a power


def is_node(data: Tensor, sizes: Tensor) -> Tensor:
    """1 for slots that hold a node, 0 for unused ones, in the dtype of the data."""
    place = torch.arange(data.shape[1], device=data.device).view(1, -1, 1)
    return (place < sizes).to(data.dtype)


def first_steps(data: Tensor, sizes: Tensor, phi: Tensor | None, *, options: GraphOptions) -> tuple[Tensor, ...]:
    """(*problem, *state) after the first steps, and whether a magnitude is extreme: then the data must be scaled
    first."""
    accuracy, valid, power = ACCURACY[data.dtype], is_node(data, sizes), power_of(phi, options.phi)
    mean = materialize((data * valid).sum(1, keepdim=True) / sizes)
    square = (data - mean).square() * valid
    var, cube = (materialize(t.sum(1, keepdim=True) / sizes) for t in (square, square * (data - mean)))
    low, high = materialize(data.amin(1, keepdim=True)), materialize(data.amax(1, keepdim=True))
    sd = materialize(var.sqrt())
    floor = materialize((sd * accuracy.floor).clamp_min(TINY))
    problem = GraphProblem(mean, var, sd, floor, materialize((high - low).clamp_min(TINY)))
    extreme = ~is_ordinary(torch.maximum(low.abs(), high.abs())).all()
    start = start_search(mean + expected_offset(var, cube, sd, power), low, high, done=~torch.isfinite(mean))
    return (*problem, *search_on(data, sizes, power, problem, start, options), extreme)


def expected_offset(var: Tensor, cube: Tensor, sd: Tensor, power: float | Tensor) -> Tensor:
    """Edgeworth expansion of mu - mean for a small skewness: skewness (phi - 2) / 6 standard deviations."""
    offset = cube / var.clamp_min(TINY) * ((power - 2) / 6)
    return torch.minimum(torch.maximum(offset.nan_to_num(0.0), -sd / 2), sd / 2).nan_to_num(0.0)


def more_steps(
    data: Tensor, sizes: Tensor, phi: Tensor | None, *rest: Tensor, options: GraphOptions
) -> tuple[Tensor, ...]:
    """The state after more steps; rest: (*problem, *state)."""
    cut = len(GraphProblem._fields)
    problem, state = GraphProblem(*rest[:cut]), SearchState(*rest[cut:])
    return tuple(search_on(data, sizes, power_of(phi, options.phi), problem, state, options))


def search_on(
    data: Tensor,
    sizes: Tensor,
    power: float | Tensor,
    problem: GraphProblem,
    state: SearchState,
    options: GraphOptions,
) -> SearchState:
    """Take `options.steps` steps; `done` is a number, 0 or 1, before and after."""
    target = target_of(sizes, power, problem, options)
    state = state._replace(done=state.done > 0)
    if target is None:
        sums = padded_sums(data, sizes, power, problem, problem.sd * REACH)
        state = search(state, sums, power, problem.sd, ACCURACY[data.dtype], options.steps)
    else:
        sums = padded_sums(data, sizes, power, problem, target.reach)
        state = certified_search(state, sums, power, target, options.steps)
    return state._replace(done=state.done.to(data.dtype))


def target_of(
    sizes: Tensor, power: float | Tensor, problem: GraphProblem, options: GraphOptions
) -> TargetAccuracy | None:
    if options.tol is None:
        return None
    return target_accuracy(problem.mean, problem.sd, problem.floor, power, sizes, options.tol)


def padded_sums(
    data: Tensor, sizes: Tensor, phi: float | Tensor, problem: GraphProblem, reach: Tensor
) -> Callable[[Tensor], Sums]:
    """`Sums` as a function of y."""
    valid, reach = is_node(data, sizes), materialize(reach)

    def sums(y: Tensor) -> Sums:
        d = data - materialize(y)
        distance = torch.maximum(d.abs(), problem.floor)
        w = weights(distance, phi, problem.unit) * valid
        # for phi = 1.5 the weight is the square root of 1/|d|, which saves a division
        fraction = w * w * reach if isinstance(phi, float) and phi == 1.5 else reach / distance
        return Sums(*(term.sum(1, keepdim=True) for term in (d * w, w, w * fraction.clamp_max(1.0))))

    return sums


def complete(
    data: Tensor,
    sizes: Tensor,
    weight: Tensor,
    bias: Tensor,
    alpha: Tensor,
    solver_totals: Tensor,
    share: Tensor,
    *rest: Tensor,
    options: GraphOptions,
) -> tuple[Tensor, ...]:
    """y, mu, scale = 1 / sqrt(sigma^2 + eps), the new totals and the largest error bound in standard errors.

    share: the fraction of the call's medians in these data, (); rest: (*problem, *state)
    """
    cut = len(GraphProblem._fields)
    problem, state = GraphProblem(*rest[:cut]), SearchState(*rest[cut:])
    mu = materialize(torch.where(torch.isfinite(problem.mean), state.y, torch.nan))
    center = materialize(alpha * mu)
    scale = materialize((problem.var + (problem.mean - center).square() + options.eps).rsqrt())
    y = (data - center) * materialize(scale * weight) + bias
    error = state.error if options.tol is None else in_deviations(state.error, problem.mean, problem.sd)
    error = error.nan_to_num(torch.inf, torch.inf)
    totals = add_call(solver_totals, state.iterations, state.done > 0, error, share)
    return y, mu, scale, totals, in_standard_errors(error, sizes).amax().to(totals.dtype)


def backward_pass(
    grad: Tensor,
    data: Tensor,
    sizes: Tensor,
    weight: Tensor,
    alpha: Tensor,
    phi: Tensor | None,
    mean: Tensor,
    floor: Tensor,
    unit: Tensor,
    mu: Tensor,
    scale: Tensor,
    *,
    options: GraphOptions,
) -> tuple[Tensor, ...]:
    """The gradients of x (padded), gamma, beta, alpha, phi.  With xhat = s scale and w = max(|x - mu|, floor)^(phi-2):

    ds = gamma scale (dy - xhat mean(dy xhat)),   dmu = -alpha sum ds,   dalpha = -mu sum ds
    dx = ds + dmu w / sum w,   dphi = dmu sum d w ln|d| / ((phi-1) sum w),   d = x - mu
    """
    power, valid, center = power_of(phi, options.phi), is_node(data, sizes), materialize(alpha * mu)
    xhat, d = (data - center) * scale, data - mu
    distance = torch.maximum(d.abs(), floor)
    w = weights(distance, power, unit)
    sum_dy, sum_dy_xhat, sum_w = (materialize((term * valid).sum(1, keepdim=True)) for term in (grad, grad * xhat, w))
    factor, slope = materialize(scale * weight), materialize(sum_dy_xhat / sizes)
    sum_ds = materialize(factor * (sum_dy - sum_dy_xhat * (mean - center) * scale))
    pull = materialize(-alpha * sum_ds / sum_w.clamp_min(TINY))
    dx = factor * (grad - xhat * slope) + pull * w
    dphi = torch.zeros_like(alpha)
    if phi is not None:
        sum_dwlogd = (d * w * (distance / unit).log() * valid).sum(1, keepdim=True)
        dphi = (pull * sum_dwlogd).sum((0, 1)) / (phi - 1)
    return dx, sum_dy_xhat.sum((0, 1)), sum_dy.sum((0, 1)), -(mu * sum_ds).sum((0, 1)), dphi
