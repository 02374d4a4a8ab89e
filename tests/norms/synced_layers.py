"""Layers that take their statistics over several processes: the forms that are tested, and a training of one layer on a
whole batch or on parts of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from normbench_cli.norms import NORMS
from normbench_cli.norms.protocols import HasSolverStatistics, sync_norms

EXACT = [
    "batchnorm",
    *(f"augnorm:phi={phi},tol=exact" for phi in ("1", "1.2", "1.5", "2", "3", "inf")),
    "augnorm:solver=newton:iterations=4",
    "diffphi:tol=exact",
    "diffphi:tol=exact,low=1.5,init=2.5,high=4",
    "mediannorm",
    "popnorm",
    *(f"popnorm:divide={divide}" for divide in ("l1", "linf", "none")),
    *(f"popnorm:remove={remove}" for remove in ("scaled", "none")),
    *(f"popnorm:order=divide_first,divide={divide}" for divide in ("l2", "l1", "linf")),
    "popnorm:stats=group",
]
TO_TOLERANCE = ["augnorm:phi=1.2", "augnorm:phi=1.5", "augnorm:phi=3", "diffphi"]
CHANNELS = 5
Result = dict[str, Any]


def make_layer(spec: str, dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(1)
    layer: nn.Module = NORMS.build(spec, num_features=CHANNELS).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return layer


def make_batch(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Skewed data, and the weights of the outputs in the loss."""
    generator = torch.Generator().manual_seed(3)
    x, weights = torch.randn((2, *shape), generator=generator, dtype=torch.float64).to(dtype)
    return (x + 0.8) ** 3, weights


def train_twice(layer: nn.Module, x: Tensor, weights: Tensor) -> Result:
    """Two batches: the second search begins where the first ended."""
    x = x.clone().requires_grad_()
    y = layer(x)
    (y * weights).sum().backward()
    second = layer(x.detach() * 1.1 + 0.1)
    return {
        "rows": [y.detach(), x.grad, second.detach()],
        "gradients": [parameter.grad for parameter in layer.parameters()],
        "buffers": [value for name, value in layer.state_dict().items() if name not in dict(layer.named_parameters())],
    }


def train_part(rank: int, size: int, specs: list[str], shape: tuple[int, ...], dtype: Any, ends: list[int]) -> Any:
    """In one of the processes: each layer on the rows between two of the ends, and how often a forward communicates
    more often than it passes over the data."""
    results, calls = [], count_calls()
    for spec in specs:
        layer = make_synced(spec, dtype)
        taken = slice(ends[rank], ends[rank + 1])
        x, weights = make_batch(shape, dtype)
        calls.clear()
        layer(x[taken])
        passes = 0.0
        if isinstance(layer, HasSolverStatistics):
            passes = layer.solver_statistics()["iterations_max"].item()
        besides = len(calls) - passes
        results.append(train_twice(make_synced(spec, dtype), x[taken], weights[taken]) | {"besides passes": besides})
    return results


def make_synced(spec: str, dtype: torch.dtype) -> nn.Module:
    layer = make_layer(spec, dtype)
    sync_norms(layer)
    return layer


def count_calls() -> list[str]:
    """From here on every communication of this process is listed."""
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(dist, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return real(*args, **kwargs)

        return call

    for name in ("all_reduce", "all_gather"):
        setattr(dist, name, counted(name))
    return calls


def joined(parts: list[Result]) -> Result:
    """What the processes have found, as of one with the whole batch: rows one after the other, gradients added."""
    return {
        "rows": [torch.cat(rows) for rows in zip(*(part["rows"] for part in parts), strict=True)],
        "gradients": [sum(grads) for grads in zip(*(part["gradients"] for part in parts), strict=True)],
        "buffers": parts[0]["buffers"],
    }
