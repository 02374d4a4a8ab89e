"""Every norm of weights against its equation, with weights so small that what guards a division shows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from normbench_cli.registry import NORMS

OPERATIONS: dict[str, nn.Module] = {
    "linear": nn.Linear(5, 6).double(),
    "conv": nn.Conv2d(4, 6, 3).double(),
    "transposed": nn.ConvTranspose2d(4, 6, 3).double(),
}


def rows(weight: Tensor, kind: str) -> Tensor:
    """The filters as the rows of a matrix."""
    return (weight.transpose(0, 1) if kind == "transposed" else weight).detach().flatten(1)


def centered(v: Tensor) -> Tensor:
    return v - v.mean(1, keepdim=True)


def length(v: Tensor) -> Tensor:
    found: Tensor = torch.linalg.vector_norm(v, dim=1, keepdim=True)
    return found


# of the filters v and their parameters g, as rows
EQUATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "weightnorm": lambda v, g: g * v / length(v),
    "centeredweightnorm": lambda v, g: 1.414 * centered(v) / (length(centered(v)) + 1e-5),
    "centeredweightnorm:scale=2.5": lambda v, g: 2.5 * centered(v) / (length(centered(v)) + 1e-5),
    "centeredweightnorm:learn_scale=true": lambda v, g: g * centered(v) / (length(centered(v)) + 1e-5),
    "weightstandardization": lambda v, g: centered(v) / (v.std(1, keepdim=True) + 1e-5),
    "weightstandardization:form=paper": lambda v, g: centered(v) / v.std(1, correction=0, keepdim=True),
}


@pytest.mark.parametrize("kind", OPERATIONS)
@pytest.mark.parametrize("spec", EQUATIONS)
def test_norms_of_weights_are_their_equation(spec: str, kind: str) -> None:
    op: Any = copy.deepcopy(OPERATIONS[kind])
    op.weight.data = 1e-4 * (torch.randn(op.weight.shape, generator=torch.Generator().manual_seed(0)).double() + 1)
    v, wrapped = rows(op.weight, kind), NORMS.build(spec, op=op)
    assert wrapped is op
    stored = wrapped.parametrizations.weight
    learned = getattr(stored, "original0", None) if spec == "weightnorm" else getattr(stored[0], "learned", None)
    g = torch.linspace(-1, 2, 6).double().view(6, 1)
    if learned is not None:
        assert rows(learned, kind).shape == g.shape
        learned.data = g.view_as(rows(learned, kind)).reshape(learned.shape)
    else:
        assert not [name for name, p in wrapped.named_parameters() if p.shape == g.shape]
    torch.testing.assert_close(rows(wrapped.weight, kind), EQUATIONS[spec](v, g), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", OPERATIONS)
def test_parameters_of_weight_norms_start_where_their_docstring_says(kind: str) -> None:
    op: Any = OPERATIONS[kind]
    torch.testing.assert_close(NORMS.build("weightnorm", op=copy.deepcopy(op)).weight, op.weight)
    wrapped = NORMS.build("cwn:scale=2.5,learn_scale=true", op=copy.deepcopy(op))
    assert torch.equal(wrapped.parametrizations.weight[0].learned.unique(), torch.tensor([2.5]).double())


@pytest.mark.parametrize("size", [1, 1e-7, 1e-11])  # the smaller, the more eps counts
@pytest.mark.parametrize(("spec", "iterations", "eps"), [("sn", 1, 1e-12), ("sn:iterations=4,eps=1e-3", 4, 1e-3)])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_spectral_norm_hands_its_parameters_on(kind: str, spec: str, iterations: int, eps: float, size: float) -> None:
    op: Any = copy.deepcopy(OPERATIONS[kind])
    op.weight.data *= size
    weights = []
    for ours in (True, False):
        torch.manual_seed(0)
        wrapped: Any = copy.deepcopy(op)
        if ours:
            NORMS.build(spec, op=wrapped)
        else:
            dim = 1 if kind == "transposed" else 0
            parametrizations.spectral_norm(wrapped, n_power_iterations=iterations, eps=eps, dim=dim)
        weights.append(wrapped.train().weight)
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-12, atol=0)


def test_spectral_norm_divides_by_the_largest_singular_value() -> None:
    op = nn.Conv2d(4, 6, 3).double()
    wrapped = NORMS.build("sn:iterations=200", op=op)
    assert float(torch.linalg.matrix_norm(wrapped.weight.detach().flatten(1), 2)) == pytest.approx(1)
