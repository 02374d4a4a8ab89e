"""POPNorm in every form against its equation, written out in float64: the output of training and evaluation, the
running statistics, and both ways of computing the default form with its gradients."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._batch.layout import to_columns
from normbench_cli.norms._batch.popnorm_kernels import (
    Constants,
    backward_pass,
    forward_pass,
    lean_backward,
    lean_forward,
)
from normbench_cli.norms.popnorm import POPNorm

KAPPA, EPS, MOMENTUM = 2.5, 0.3, 0.2  # far from the defaults, and large enough to be seen
FORMS = [
    form
    for form in itertools.product(
        ("mean", "scaled", "none"), ("l2", "l1", "linf", "none"), ("remove_first", "divide_first")
    )
    if form[:2] != ("none", "none")
]
every_form = pytest.mark.parametrize(("remove", "divide", "order"), FORMS)


def data(*shape: int, seed: int = 0) -> Tensor:
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1.5


def layer_of(**options: Any) -> POPNorm:
    """Four channels, with gamma and beta that differ between channels and from their initial values."""
    layer = POPNorm(4, kappa=KAPPA, eps=EPS, momentum=MOMENTUM, **options).double()
    if layer.weight is not None:
        layer.weight.data = torch.tensor([0.5, -1.5, 2.0, 0.8], dtype=torch.float64)
    if layer.bias is not None:
        layer.bias.data = torch.tensor([0.7, -0.4, 0.2, 1.3], dtype=torch.float64)
    return layer


def over(x: Tensor, stats: str, of: str) -> Tensor:
    """The mean, or the maximum, over what shares its statistics, in the shape of x (N, 4, ...)."""
    grouped = x.reshape(len(x), 2, 2, -1) if stats == "group" else x.reshape(len(x), 4, 1, -1)
    axes = (0, 2, 3) if stats == "batch" else (2, 3)
    value = grouped.mean(axes, keepdim=True) if of == "mean" else grouped.amax(axes, keepdim=True)
    return value.expand_as(grouped).reshape(x.shape)


def equation(x: Tensor, layer: POPNorm) -> tuple[Tensor, Tensor]:
    """The output of training, and the scale that it was divided by, in the shape of x."""
    gamma, beta = (None if p is None else p.detach().view(4, *[1] * (x.ndim - 2)) for p in (layer.weight, layer.bias))

    def removed(v: Tensor) -> Tensor:
        if beta is None:
            return v
        mean = over(v, layer.stats, "mean")
        return v - mean + beta if layer.remove == "mean" else v - (1 + beta) * mean

    def scale_of(v: Tensor) -> Tensor:
        if layer.divide == "l2":
            return (over(v * v, layer.stats, "mean") + EPS).sqrt()
        if layer.divide == "none":
            return torch.ones_like(v)
        size: Tensor = over(v.abs(), layer.stats, "mean" if layer.divide == "l1" else "max") + EPS**0.5
        return size

    if layer.order == "remove_first":
        scale = scale_of(removed(x))
        y = removed(x) / scale
    else:
        scale = scale_of(x)
        y = removed(x / scale)
    return y if gamma is None else y * gamma / KAPPA, scale


def evaluation_equation(x: Tensor, layer: POPNorm, mean: Tensor, var: Tensor, scale: Tensor) -> Tensor:
    """The output of evaluation from running statistics (4, 1); x: (N, 4, positions)."""
    gamma, beta = (None if p is None else p.detach().view(4, 1) for p in (layer.weight, layer.bias))

    def shift(mean: Tensor) -> Tensor:
        if beta is None:
            return torch.zeros_like(mean)
        return beta - mean if layer.remove == "mean" else -(1 + beta) * mean

    if layer.divide == "l2":
        left = mean if layer.order == "divide_first" else mean + shift(mean)
        scale = (var + left.square() + EPS).sqrt()
    elif layer.divide == "none":
        scale = torch.ones_like(mean)
    y = (x + shift(mean)) / scale if layer.order == "remove_first" else x / scale + shift(mean / scale)
    return y if gamma is None else y * gamma / KAPPA


@every_form
@pytest.mark.parametrize("stats", ["batch", "instance", "group"])
def test_every_form_is_its_equation(remove: str, divide: str, order: str, stats: str) -> None:
    for shape in ((5, 4), (5, 4, 6), (3, 4, 2, 3)):
        layer = layer_of(remove=remove, divide=divide, order=order, stats=stats, groups=2 if stats == "group" else None)
        torch.testing.assert_close(layer(data(*shape)).detach(), equation(data(*shape), layer)[0])


@every_form
@pytest.mark.parametrize("stats", ["instance", "group"])
def test_statistics_of_samples_are_the_same_in_evaluation(remove: str, divide: str, order: str, stats: str) -> None:
    layer = layer_of(
        remove=remove, divide=divide, order=order, stats=stats, groups=2 if stats == "group" else None
    ).eval()
    torch.testing.assert_close(layer(data(5, 4, 6)).detach(), equation(data(5, 4, 6), layer)[0])
    assert not list(layer.buffers())


@every_form
def test_running_statistics_and_evaluation_are_their_equations(remove: str, divide: str, order: str) -> None:
    layer = layer_of(remove=remove, divide=divide, order=order)
    mean, var, scale = torch.zeros(4).double(), torch.ones(4).double(), torch.ones(4).double()
    for seed in (1, 2):
        x = data(5, 4, 6, seed=seed)
        layer(x)
        mean = (1 - MOMENTUM) * mean + MOMENTUM * x.mean((0, 2))
        var = (1 - MOMENTUM) * var + MOMENTUM * x.var((0, 2), correction=0)
        scale = (1 - MOMENTUM) * scale + MOMENTUM * equation(x, layer)[1][0, :, 0]
    torch.testing.assert_close(layer.running_mean, mean)
    torch.testing.assert_close(layer.running_var, var)
    assert int(layer.num_batches_tracked) == 2
    assert hasattr(layer, "running_scale") == (divide in ("l1", "linf"))
    if hasattr(layer, "running_scale"):
        torch.testing.assert_close(layer.running_scale, scale)
    x = data(3, 4, 2, seed=3)
    expected = evaluation_equation(x, layer, *(t.view(4, 1) for t in (mean, var, scale)))
    torch.testing.assert_close(layer.eval()(x).detach(), expected)


@pytest.mark.parametrize("way", ["kernels", "torch's operators"])
@pytest.mark.parametrize("shape", [(7, 4), (130, 4), (5, 4, 6), (66, 4, 3)], ids=str)
def test_both_ways_of_the_default_form_have_the_gradients_of_the_equation(way: str, shape: tuple[int, ...]) -> None:
    x, dy, constants = data(*shape).requires_grad_(), data(*shape, seed=1), Constants(KAPPA, EPS)
    layer = layer_of()
    gamma, beta = layer.weight, layer.bias
    assert gamma is not None
    assert beta is not None
    last = [1] * (x.ndim - 2)
    xbar = x - over(x, "batch", "mean") + beta.view(4, *last)
    y = gamma.view(4, *last) / KAPPA * xbar / (over(xbar * xbar, "batch", "mean") + EPS).sqrt()
    expected = [y, *torch.autograd.grad(y, (x, gamma, beta), dy)]
    with torch.no_grad():
        if way == "kernels":
            flat, grad = to_columns(x), to_columns(dy)
            out, mean, var, scale = forward_pass(flat, gamma, beta, constants=constants)
            slopes = backward_pass(grad, flat, gamma, beta, mean, scale, constants=constants)
        else:
            out, mean, var, scale = lean_forward(x, gamma, beta, constants)
            slopes = lean_backward(dy, x, gamma, beta, mean, scale, constants)
    axes = (0,) if x.ndim == 2 else (0, 2)
    torch.testing.assert_close([out, *slopes], [t.detach() for t in expected])
    torch.testing.assert_close([mean, var], [x.detach().mean(axes), x.detach().var(axes, correction=0)])


@pytest.mark.parametrize("kappa", [0.0, -1.0, float("inf"), float("nan")])
def test_kappa_must_be_positive_and_finite(kappa: float) -> None:
    with pytest.raises(ValueError, match="kappa"):
        POPNorm(4, kappa=kappa)


def test_the_text_of_a_layer_says_its_form() -> None:
    text = repr(layer_of(remove="scaled", divide="l1", order="divide_first", stats="group", groups=2))
    for part in ("kappa=2.5", "remove=scaled", "divide=l1", "order=divide_first", "stats=group", "groups=2", "eps=0.3"):
        assert part in text
    assert "groups" not in repr(layer_of())
