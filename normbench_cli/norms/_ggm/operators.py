"""The forward and backward pass of a layer with a tolerance as two operators of torch, for a CPU's `torch.compile`.

A compiler calls an operator and does not look into it.  So the kernels of this package run in a compiled model too, and
the search may look whether it is done; the model stays one graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.tolerant import BACKWARD, forward_step

NONE = -1.0  # for what is None; no option is negative


def as_numbers(options: SolverOptions) -> list[float]:
    """The options as an operator takes them."""
    return [NONE if value is None else float(value) for value in options]


def from_numbers(numbers: list[float]) -> SolverOptions:
    phi, eps, steps, plain, above_two, tol = numbers
    return SolverOptions(None if phi == NONE else phi, eps, int(steps), bool(plain), bool(above_two), tol)


@torch.library.custom_op("normbench::normalize_to_tolerance", mutates_args=())
def forward_operator(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    numbers: list[float],
    dynamic_rows: bool,
) -> list[Tensor]:
    options = from_numbers(numbers)
    step = forward_step(
        flat, weight, bias, phi, offset, center, solver_totals, options=options, dynamic_rows=dynamic_rows
    )
    return list(step)


@forward_operator.register_fake
def _(flat: Tensor, *others: Any) -> list[Tensor]:
    _, _, _, _, center, solver_totals, *_ = others
    statistics = torch.float64 if flat.dtype == torch.float64 else torch.float32
    mu, var, scale, new_offset, mean, floor = (center.new_empty(center.shape, dtype=statistics) for _ in range(6))
    largest, certified = solver_totals.new_empty(()), solver_totals.new_empty((), dtype=torch.bool)
    y, totals = torch.empty_like(flat), torch.empty_like(solver_totals)
    return [y, mu, var, scale, new_offset, totals, largest, certified, mean, floor]


@torch.library.custom_op("normbench::normalize_to_tolerance_backward", mutates_args=())
def backward_operator(
    grad: Tensor,
    flat: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    mu: Tensor,
    scale: Tensor,
    floor: Tensor,
    phi: Tensor | None,
    numbers: list[float],
    dynamic_rows: bool,
) -> list[Tensor]:
    options = from_numbers(numbers)
    tensors = grad, flat, weight, mean, mu, scale, floor, phi
    return list(BACKWARD(*tensors, options=options, dynamic_rows=dynamic_rows))


@backward_operator.register_fake
def _(*tensors: Any) -> list[Tensor]:
    _, flat, _, mean, *_ = tensors
    return [torch.empty_like(flat), *(torch.empty_like(mean) for _ in range(3))]
