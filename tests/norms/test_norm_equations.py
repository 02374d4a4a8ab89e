"""Every registered norm against its equation, written out in float64, with parameters far from the defaults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.registry import NORMS
from tests.norms.exact import exact

GRAPHS = torch.tensor([0, 2, 0, 0, 2, 2, 2, 0, 3, 2])  # in no order, and one has no node
EPS, MOMENTUM = 0.3, 0.2


def data(*shape: int, seed: int = 0) -> Tensor:
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).exp() - 1


def median_by_bisection(values: Tensor, phi: float) -> float:
    """argmin_y sum |x - y|^phi of a vector, where the slope changes its sign."""
    if phi == float("inf"):
        return float(values.min() + values.max()) / 2
    if phi == 1:
        ordered = values.sort().values
        return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    low, high = float(values.min()), float(values.max())
    for _ in range(100):
        middle = (low + high) / 2
        d = values - middle
        low, high = (middle, high) if float((d.sign() * d.abs() ** (phi - 1)).sum()) > 0 else (low, middle)
    return (low + high) / 2


def median_by_plain_newton(values: Tensor, phi: float, iterations: int) -> float:
    y = values.mean()
    for _ in range(iterations):
        d = values - y
        y = y + (d * d.abs() ** (phi - 2)).sum() / ((phi - 1) * (d.abs() ** (phi - 2)).sum())
    return float(y)


def randomized(spec: str, **options: Any) -> Any:
    """Four channels, with parameters that differ between channels and from their initial values."""
    layer = NORMS.build(exact(spec), num_features=4, eps=EPS, **options).double()
    for seed, parameter in enumerate(layer.parameters()):
        parameter.data = torch.linspace(-1, 2, 4).double().roll(seed) + 0.1
    return layer


def affine(layer: Any, u: Tensor) -> Tensor:
    """gamma u + beta for u (N, 4, ...), or u without them."""
    if layer.weight is None:
        return u
    one_a_channel = (4, *[1] * (u.ndim - 2))
    y: Tensor = layer.weight.detach().view(one_a_channel) * u + layer.bias.detach().view(one_a_channel)
    return y


Center = Callable[[Tensor], float]  # of the values of a channel
BATCH_NORMS: dict[str, Center] = {
    "batchnorm": lambda v: float(v.mean()),
    "mediannorm": lambda v: float(v.sort().values[(len(v) - 1) // 2]),
    **{f"augnorm:phi={phi}": partial(median_by_bisection, phi=phi) for phi in (1, 1.2, 1.5, 2, 3, float("inf"))},
    "augnorm:phi=1.7,solver=newton:iterations=1": lambda v: median_by_plain_newton(v, 1.7, 1),
    "augnorm:phi=1.7,solver=newton:iterations=3": lambda v: median_by_plain_newton(v, 1.7, 3),
    "augnorm:phi=1.7,solver=newton": lambda v: median_by_plain_newton(v, 1.7, 4),
    "diffphi:init=2.5,low=1.6,high=3.5": lambda v: median_by_bisection(v, 2.5),
}


@pytest.mark.parametrize("with_affine", [True, False])
@pytest.mark.parametrize("spec", BATCH_NORMS)
def test_norms_of_batches_are_their_equation_in_training_and_evaluation(spec: str, with_affine: bool) -> None:
    layer = randomized(spec, momentum=MOMENTUM, affine=with_affine)
    if hasattr(layer, "phi_raw"):
        layer.phi_raw.data = NORMS.build(spec, num_features=4).double().phi_raw.data
    assert (layer.weight is None) == (layer.bias is None) == (not with_affine)
    running_mean, running_var, odd = torch.zeros(4).double(), torch.ones(4).double(), spec == "batchnorm"
    for seed in (0, 1):
        x = data(5, 4, 3, seed=seed)
        center = torch.tensor([BATCH_NORMS[spec](x[:, j].flatten()) for j in range(4)]).double().view(4, 1)
        d = x - center
        var = d.square().mean((0, 2))
        torch.testing.assert_close(layer(x).detach(), affine(layer, d / (var.view(4, 1) + EPS).sqrt()))
        running_mean = (1 - MOMENTUM) * running_mean + MOMENTUM * center[:, 0]
        running_var = (1 - MOMENTUM) * running_var + MOMENTUM * var * (15 / 14 if odd else 1)  # torch's is unbiased
    torch.testing.assert_close([layer.running_mean, layer.running_var], [running_mean, running_var])
    assert int(layer.num_batches_tracked) == 2
    u = (x - running_mean.view(4, 1)) / (running_var.view(4, 1) + EPS).sqrt()
    torch.testing.assert_close(layer.eval()(x).detach(), affine(layer, u))


def test_each_channel_of_diffphi_has_the_phi_of_its_parameter() -> None:
    layer, x = (
        NORMS.build("diffphi:init=2.5,low=1.6,high=3.5,eps=0.3,tol=exact", num_features=4).double(),
        data(5, 4, 3),
    )
    layer.phi_raw.data = torch.tensor([-3.0, -0.5, 1.0, 2.0]).double()
    phi = 1.6 + 1.9 / (1 + (-layer.phi_raw.detach()).exp())
    center = torch.tensor([median_by_bisection(x[:, j].flatten(), float(phi[j])) for j in range(4)]).double()
    d = x - center.view(4, 1)
    y = d / (d.square().mean((0, 2), keepdim=True) + 0.3).sqrt()
    torch.testing.assert_close(layer(x).detach(), y)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("with_affine", [True, False])
@pytest.mark.parametrize(("spec", "groups"), [("layernorm", 1), ("groupnorm:groups=2", 2), ("instancenorm", 4)])
def test_norms_of_samples_are_their_equation(spec: str, groups: int, with_affine: bool, training: bool) -> None:
    layer, x = randomized(spec, affine=with_affine).train(training), data(5, 4, 3, 2)
    assert (layer.weight is None) == (layer.bias is None) == (not with_affine)
    grouped = x.reshape(5, groups, -1)
    u = (grouped - grouped.mean(2, keepdim=True)) / (grouped.var(2, correction=0, keepdim=True) + EPS).sqrt()
    torch.testing.assert_close(layer(x).detach(), affine(layer, u.view_as(x)))


GRAPH_NORMS: dict[str, Center] = {
    "graphnorm": lambda v: float(v.mean()),
    "graphnorm:affine=false": lambda v: float(v.mean()),
    "auggraphnorm:phi=1.3": lambda v: median_by_bisection(v, 1.3),
    "auggraphnorm:phi=3": lambda v: median_by_bisection(v, 3),
    "auggraphnorm:phi=1.7,solver=newton:iterations=2": lambda v: median_by_plain_newton(v, 1.7, 2),
    "auggraphnorm:phi=1.6,learn_phi=true": lambda v: median_by_bisection(v, 1.6),
}


@pytest.mark.parametrize("graphs", [GRAPHS, None], ids=["graphs", "one graph"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("spec", GRAPH_NORMS)
def test_norms_of_graphs_are_their_equation(spec: str, training: bool, graphs: Tensor | None) -> None:
    if "newton" in spec and graphs is not None:
        graphs = GRAPHS.clamp_max(2)  # plain iteration divides by zero for a graph of one node
    layer, x = randomized(spec).train(training), data(10, 4)
    if "learn_phi" in spec:
        layer.phi_raw.data = NORMS.build(spec, num_features=4).double().phi_raw.data
    expected = torch.empty_like(x)
    for graph in (0, 2, 3) if graphs is not None else (0,):
        nodes = (torch.zeros(10) if graphs is None else graphs) == graph
        if nodes.any():
            center = torch.tensor([GRAPH_NORMS[spec](x[nodes, j]) for j in range(4)]).double()
            s = x[nodes] - layer.alpha.detach() * center
            expected[nodes] = affine(layer, s / (s.square().mean(0) + EPS).sqrt())
    torch.testing.assert_close(layer(x, graphs).detach(), expected)


def test_every_norm_of_data_has_an_equation_here() -> None:
    written = {*BATCH_NORMS, *GRAPH_NORMS, "layernorm", "groupnorm", "instancenorm", "none", "popnorm"}  # own file
    norms = {name for name, entry in NORMS.entries.items() if entry.module.startswith("normbench_cli.")}
    assert {spec.partition(":")[0] for spec in written} == {
        name for name in norms if NORMS.entries[name].facts.placement != "weight"
    }


def test_no_norm_changes_nothing() -> None:
    layer, x = NORMS.build("none", num_features=4), data(5, 4)
    assert torch.equal(layer(x), x)
    assert not layer.state_dict()
