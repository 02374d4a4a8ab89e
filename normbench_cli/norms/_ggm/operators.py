"""Forward and backward pass with a tolerance as two custom operators of torch, for `torch.compile` on a CPU.

An operator is opaque to the compiler.  So a compiled model runs the same kernels, the search may test for convergence,
and the model stays one graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import working_dtype
from normbench_cli.norms._ggm import on_cpu
from normbench_cli.norms._ggm.buffers import SolverBuffers
from normbench_cli.norms._ggm.kernels import Fit, SolverOptions
from normbench_cli.norms._native.columns import dense


def as_text(options: SolverOptions) -> str:
    """The options as an operator takes them: as numbers, those that differ between layers would become symbolic."""
    return json.dumps(options)


@lru_cache(maxsize=256)
def from_text(text: str) -> SolverOptions:
    return SolverOptions(*json.loads(text))


def forward(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    phi: Tensor | None,
    start: Tensor,
    center: Tensor,
    solver_totals: Tensor,
    largest_error: Tensor,
    options: str,
) -> tuple[Tensor, Tensor]:
    """y and fit.  Updates the buffers."""
    buffers = SolverBuffers(start, center, solver_totals, largest_error)
    return on_cpu.forward(x, weight, bias, phi, buffers, from_text(options))


def fake_forward(x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.empty_like(dense(x)), x.new_empty((len(Fit._fields), x.shape[1]), dtype=working_dtype(x))


def backward(
    grad: Tensor, x: Tensor, weight: Tensor | None, fit: Tensor, phi: Tensor | None, options: str
) -> list[Tensor]:
    """dx, dgamma, dbeta, and dphi if phi is learned."""
    gradients = on_cpu.backward(grad, x, weight, fit, phi, from_text(options))
    return [g for g in (gradients if phi is not None else gradients[:3]) if g is not None]


def fake_backward(*tensors_and_options: Any) -> list[Tensor]:
    _, x, _, fit, phi, _ = tensors_and_options
    return [torch.empty_like(dense(x)), *(fit.new_empty(fit.shape[1]) for _ in range(2 if phi is None else 3))]


def operator(
    name: str, function: Callable[..., Any], fake: Callable[..., Any], updates: Sequence[str] = ()
) -> Callable[..., Any]:
    """Register an operator for a CPU.  `torch.library.custom_op` does the same with checks that take as long as a small
    layer."""
    LIBRARY.define(name + torch.library.infer_schema(function, mutates_args=updates))
    LIBRARY.impl(name, function, "CPU")
    torch.library.register_fake(f"normbench::{name}", fake, lib=LIBRARY)
    found: Callable[..., Any] = getattr(torch.ops.normbench, name).default
    return found


LIBRARY = torch.library.Library("normbench", "FRAGMENT")
forward_operator = operator("normalize_to_tolerance", forward, fake_forward, updates=SolverBuffers._fields)
backward_operator = operator("normalize_to_tolerance_backward", backward, fake_backward)
