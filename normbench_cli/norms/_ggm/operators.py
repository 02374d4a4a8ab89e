"""The forward and backward pass of a layer with a tolerance as two operators of torch, for a CPU's `torch.compile`.

A compiler calls an operator and does not look into it.  So the kernels of this package run in a compiled model too, and
the search may look whether it is done; the model stays one graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from normbench_cli.norms._ggm.kernels import SolverOptions
from normbench_cli.norms._ggm.tolerant import forward_step, normalization_gradient


def as_text(options: SolverOptions) -> str:
    """The options as an operator takes them: a compiler would make symbols of numbers in which layers differ."""
    return json.dumps(options)


@lru_cache(maxsize=256)
def from_text(text: str) -> SolverOptions:
    return SolverOptions(*json.loads(text))


def forward(
    flat: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    offset: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    options: str,
    dynamic_rows: bool,
) -> list[Tensor]:
    tensors = flat, weight, bias, phi, offset, center, solver_totals
    return list(forward_step(*tensors, options=from_text(options), dynamic_rows=dynamic_rows))


def fake_forward(flat: Tensor, *others: Any) -> list[Tensor]:
    _, _, _, _, center, solver_totals, *_ = others
    statistics = torch.float64 if flat.dtype == torch.float64 else torch.float32
    mu, var, scale, new_offset, mean, floor = (center.new_empty(center.shape, dtype=statistics) for _ in range(6))
    largest, certified = solver_totals.new_empty(()), solver_totals.new_empty((), dtype=torch.bool)
    y, totals = torch.empty_like(flat), torch.empty_like(solver_totals)
    return [y, mu, var, scale, new_offset, totals, largest, certified, mean, floor]


def backward(
    grad: Tensor,
    flat: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    mu: Tensor,
    scale: Tensor,
    floor: Tensor,
    phi: Tensor | None,
    options: str,
    dynamic_rows: bool,
) -> list[Tensor]:
    tensors = grad, flat, weight, mean, mu, scale, floor, phi
    return list(normalization_gradient(*tensors, options=from_text(options), dynamic_rows=dynamic_rows))


def fake_backward(*tensors: Any) -> list[Tensor]:
    _, flat, _, mean, *_ = tensors
    return [torch.empty_like(flat), *(torch.empty_like(mean) for _ in range(3))]


def operator(name: str, function: Callable[..., list[Tensor]], fake: Callable[..., list[Tensor]]) -> Callable[..., Any]:
    """Registered for a CPU.  `torch.library.custom_op` does the same with checks that take as long as a small layer."""
    LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=()))
    LIBRARY.impl(name, function, "CPU")
    torch.library.register_fake(f"normbench::{name}", fake, lib=LIBRARY)
    found: Callable[..., Any] = getattr(torch.ops.normbench, name).default
    return found


LIBRARY = torch.library.Library("normbench", "FRAGMENT")
forward_operator = operator("normalize_to_tolerance", forward, fake_forward)
backward_operator = operator("normalize_to_tolerance_backward", backward, fake_backward)
