"""Normalization about the median of each graph in padded batches: the search, and the autograd function.

The first steps of the search are for all medians of a batch, in one kernel.  The remaining medians are then gathered as
if they were graphs with as many features, and searched for alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._compile_policy import SEARCHED_MATRIX
from normbench_cli.norms._ggm.padded import (
    GraphOptions,
    GraphProblem,
    backward_pass,
    complete,
    first_steps,
    more_steps,
)
from normbench_cli.norms._ggm.solver import MAX_STEPS, SearchState
from normbench_cli.norms._native.graphs import Normalized
from normbench_cli.norms._padding import PaddedBatch, Padding

FIRST_STEPS = 3  # for all medians; in training they find nine of ten
MORE_STEPS = 8  # for the remaining ones, before the next convergence test

FIRST = InductorKernel(first_steps, SEARCHED_MATRIX, open_dims=2)
MORE = InductorKernel(more_steps, SEARCHED_MATRIX, open_dims=2)
COMPLETE = InductorKernel(complete, SEARCHED_MATRIX, open_dims=2)
BACKWARD = InductorKernel(backward_pass, SEARCHED_MATRIX, open_dims=2)


class BatchMedians(NamedTuple):
    """A padded batch and its medians."""

    data: Tensor
    sizes: Tensor
    problem: GraphProblem
    state: SearchState


def find_medians(x: Tensor, phi: Tensor | None, padding: Padding, options: GraphOptions) -> list[BatchMedians] | None:
    """x: (rows, C); phi: (C), or None if it is a constant of the options.  Returns None if values are so large or so
    small that they must be scaled first."""
    found = []
    for batch in padding.batches:
        each = find_medians_of_batch(x, phi, batch, options)
        if each is None:
            return None
        found.append(each)
    return found


def find_medians_of_batch(
    x: Tensor, phi: Tensor | None, batch: PaddedBatch, options: GraphOptions
) -> BatchMedians | None:
    data, sizes = batch.gather(x), batch.sizes.to(x.dtype)
    first = FIRST(data, sizes, phi, options=options._replace(steps=FIRST_STEPS), dynamic_rows=has_open_sizes(data))
    *found, extreme = first
    if bool(extreme):
        return None
    cut = len(GraphProblem._fields)
    problem, state = GraphProblem(*found[:cut]), SearchState(*found[cut:])
    steps = FIRST_STEPS
    while steps < MAX_STEPS and len(left := (state.done == 0).flatten().nonzero().squeeze(1)):
        state = search_for_few(data, sizes, phi, problem, state, left, options)
        steps += MORE_STEPS
    return BatchMedians(data, sizes, problem, state)


def has_open_sizes(data: Tensor) -> bool:
    return 1 not in data.shape[:2]


def search_for_few(
    data: Tensor,
    sizes: Tensor,
    phi: Tensor | None,
    problem: GraphProblem,
    state: SearchState,
    left: Tensor,
    options: GraphOptions,
) -> SearchState:
    """Take more steps for the remaining medians only; left: (number), their indices among (graphs * C)."""
    _, most, channels = data.shape
    groups = max(-(-len(left) // channels), 2)
    chosen = torch.cat([left, left[:1].expand(groups * channels - len(left))])
    graph = chosen.div(channels, rounding_mode="floor")
    first = (chosen + graph * ((most - 1) * channels)).view(groups, 1, channels)
    some = data.take(first + torch.arange(0, most * channels, channels).view(1, most, 1))
    per_median = [sizes.expand_as(problem.mean), *problem, *state]
    if phi is not None:
        per_median.append(phi.expand_as(problem.mean))
    whole = torch.stack(per_median).flatten(1)
    of_some = whole.index_select(1, chosen).view(-1, groups, 1, channels)
    begin, end = 1 + len(GraphProblem._fields), 1 + len(GraphProblem._fields) + len(SearchState._fields)
    power = None if phi is None else of_some[end]
    options, open_sizes = options._replace(steps=MORE_STEPS), has_open_sizes(data)
    found = MORE(some, of_some[0], power, *of_some[1:end], options=options, dynamic_rows=open_sizes, part_of=data)
    new = whole[begin:end].index_copy(1, chosen, torch.stack(found).view(end - begin, -1))
    return SearchState(*new.view(-1, *state.y.shape))


def normalize_graphs(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    alpha: Tensor,
    phi: Tensor | None,
    padding: Padding,
    solver_totals: Tensor,
    options: GraphOptions,
) -> Normalized | None:
    """Return y (rows, C), differentiable in x, weight, bias, alpha and phi; None as in `find_medians`."""
    with torch.no_grad():
        found = find_medians(x.detach(), None if phi is None else phi.detach(), padding, options)
    if found is None:
        return None
    tensors = x, weight, bias, alpha, phi
    return Normalized(*_Normalize.apply(*tensors, padding, solver_totals, options, found))  # type: ignore[no-untyped-call]


class _Normalize(torch.autograd.Function):
    """Saved for backward: x, the parameters, and for each batch five values per graph and feature."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        alpha: Tensor,
        phi: Tensor | None,
        padding: Padding,
        totals: Tensor,
        options: GraphOptions,
        found: list[BatchMedians],
    ) -> tuple[Tensor, Tensor, Tensor]:
        count = sum(len(each.data) for each in found)
        padded, errors, saved = [], [], []
        for data, sizes, problem, state in found:
            share = totals.new_tensor(len(data) / count)
            y, mu, scale, totals, largest = COMPLETE(
                *(data, sizes, weight, bias, alpha, totals, share, *problem, *state),
                options=options,
                dynamic_rows=has_open_sizes(data),
            )
            padded.append(y)
            errors.append(largest)
            saved += [problem.mean, problem.floor, problem.unit, mu, scale]
        ctx.save_for_backward(x, weight, alpha, phi, *saved)
        ctx.padding, ctx.options = padding, options
        largest = errors[0] if len(errors) == 1 else torch.stack(errors).amax()
        ctx.mark_non_differentiable(totals, largest)
        return padding.to_rows(padded), totals, largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, alpha, phi, *saved = ctx.saved_tensors
        padded, sums = [], []
        for number, batch in enumerate(ctx.padding.batches):
            data = batch.gather(x)
            dx, *of_parameters = BACKWARD(
                *(batch.gather(grad), data, batch.sizes.to(x.dtype), weight, alpha, phi),
                *saved[5 * number : 5 * number + 5],
                options=ctx.options,
                dynamic_rows=has_open_sizes(data),
            )
            padded.append(dx)
            sums.append(of_parameters)
        dweight, dbias, dalpha, dphi = (sum(parts[1:], parts[0]) for parts in zip(*sums, strict=True))
        dphi = None if phi is None else dphi
        return ctx.padding.to_rows(padded), dweight, dbias, dalpha, dphi, None, None, None, None
