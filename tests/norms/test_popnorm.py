"""POPNorm: its scale, its statistics in evaluation, and every form's gradient."""

from __future__ import annotations

import copy
import itertools
from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck
from torch.func import functional_call

from normbench_cli.norms.popnorm import POPNorm

FORMS: list[dict[str, Any]] = [
    {"remove": remove, "divide": divide, "order": order}
    for remove, divide, order in itertools.product(
        ("mean", "scaled", "none"), ("l2", "l1", "linf", "none"), ("remove_first", "divide_first")
    )
    if not remove == divide == "none"
]


def fill(parameter: nn.Parameter | None, value: float) -> None:
    if parameter is not None:
        nn.init.constant_(parameter, value)


@settings(max_examples=50)
@given(
    gamma=st.floats(-3, 3),
    beta=st.floats(-20, 20),
    kappa=st.floats(0.1, 20),
    remove=st.sampled_from(["mean", "scaled"]),
)
def test_root_mean_square_is_gamma_over_kappa(
    gamma: float, beta: float, kappa: float, remove: Literal["mean", "scaled"]
) -> None:
    layer = POPNorm(2, kappa=kappa, remove=remove, eps=0.0).double()
    fill(layer.weight, gamma)
    fill(layer.bias, beta)
    y = layer(torch.randn(64, 2, 3, dtype=torch.float64) + 1)
    assert torch.allclose(y.square().mean((0, 2)).sqrt(), torch.tensor(abs(gamma) / kappa, dtype=torch.float64))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("stats", ["batch", pytest.param("instance", marks=pytest.mark.slow), "group"])
def test_gradients_of_every_form(form: dict[str, Any], stats: Literal["batch", "instance", "group"]) -> None:
    torch.manual_seed(0)
    layer = POPNorm(4, stats=stats, groups=2 if stats == "group" else None, **form).double()
    names = [name for name, _ in layer.named_parameters()]
    values = [(p + 0.3 * torch.randn_like(p)).detach().requires_grad_() for p in layer.parameters()]
    x = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    for training in (True, False):
        layer.train(training)
        call = lambda x, *p: functional_call(layer, dict(zip(names, p, strict=True)), (x,))  # noqa: E731
        assert gradcheck(call, (x, *values))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
def test_evaluation_equals_training_if_the_running_statistics_are_those_of_the_batch(form: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer, x = POPNorm(4, momentum=1.0, **form), torch.randn(16, 4, 5) + 1
    fill(layer.bias, 0.6)
    y = layer(x)
    assert torch.allclose(layer.eval()(x), y, atol=1e-5)


def test_the_scale_in_evaluation_does_not_lag_behind_beta() -> None:
    layer, x = POPNorm(1, eps=0.0, momentum=1.0), torch.randn(64, 1)
    layer(x)
    fill(layer.bias, 3.0)  # changed after the last training step
    assert torch.allclose(layer.eval()(x).square().mean().sqrt(), torch.tensor(0.25), rtol=1e-4)


def test_default_form_equals_its_equation_compiled_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 3, 4, 4)
    for policy, last in itertools.product(("never", "always"), (False, True)):
        monkeypatch.setenv("NORMBENCH_COMPILE", policy)
        layer = POPNorm(3)
        fill(layer.bias, 0.5)
        y = layer(x.to(memory_format=torch.channels_last) if last else x)
        xbar = x - x.mean((0, 2, 3), keepdim=True) + 0.5
        expected = xbar / (xbar.square().mean((0, 2, 3), keepdim=True) + 1e-5).sqrt() / 4
        assert torch.allclose(y, expected, atol=1e-6)
        assert y.is_contiguous(memory_format=torch.channels_last) == last


def test_orders_differ() -> None:
    x = torch.randn(64, 1) + 2.6
    both = [POPNorm(1, kappa=1, order=order)(x).detach().std() for order in ("remove_first", "divide_first")]
    assert float(both[0]) == pytest.approx(1, abs=0.02)
    assert float(both[1]) < 0.5


@pytest.mark.parametrize(
    ("form", "has"),
    [
        ({"remove": "none"}, {"weight"}),
        ({"divide": "none"}, {"bias"}),
        ({}, {"weight", "bias"}),
    ],
)
def test_parameters_are_those_of_the_form(form: dict[str, Any], has: set[str]) -> None:
    assert {name for name, _ in POPNorm(2, **form).named_parameters()} == has


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"kappa": 0.0}, "kappa"),
        ({"remove": "none", "divide": "none"}, "nothing"),
        ({"stats": "group", "groups": 0}, "groups"),
    ],
)
def test_impossible_forms_are_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        POPNorm(4, **given)


def test_a_single_value_has_finite_gradients() -> None:
    x = torch.randn(1, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(POPNorm(4)(x).sum(), x)
    assert torch.isfinite(slope).all()


@pytest.mark.parametrize("form", [{"remove": "none"}, {"order": "divide_first"}, {"divide": "l1"}, {"divide": "linf"}])
@pytest.mark.parametrize("stats", ["batch", "instance", "group"])
def test_an_empty_batch_changes_no_form(form: dict[str, Any], stats: Literal["batch", "instance", "group"]) -> None:
    layer = POPNorm(4, stats=stats, **form)
    before = copy.deepcopy(layer.state_dict())
    assert layer(torch.empty(0, 4, 3, 3)).shape == (0, 4, 3, 3)
    torch.testing.assert_close(layer.state_dict(), before)
