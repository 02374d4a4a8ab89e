"""Every model with norms of every placement, on tiny data; the order of the layers that `LayerFactory` makes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from normbench_cli.models import MODELS, LayerFactory
from normbench_cli.norms import NORMS
from normbench_cli.registry import ACTIVATIONS

NORM_OF_EACH_PLACEMENT = ["none", "batchnorm", "popnorm", "weightnorm"]
IMAGE_MODELS = [name for name, entry in MODELS.entries.items() if not entry.facts.graphs]
LARGE = ("densenet121", "resnet101", "efficientnetb0", "mobilenetv2")


def kinds(module: nn.Module) -> list[str]:
    return [type(m).__name__ for m in module.modules() if not list(m.children())]


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        pytest.param(name, norm, marks=[pytest.mark.slow] if name in LARGE and norm != "batchnorm" else [])
        for name in IMAGE_MODELS
        for norm in (*NORM_OF_EACH_PLACEMENT, "batchnorm:placement=before")
    ],
)
def test_models_train_a_step_with_norms_of_every_placement(name: str, norm: str) -> None:
    net = MODELS.build(name, norm=norm, act="tanh", num_classes=3, in_channels=1)
    y = net(torch.randn(4, 1, 32, 32))
    assert y.shape == (4, 3)
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters() if p.requires_grad)


FORMS = ["popnorm:stats=group", "popnorm:remove=none", "popnorm:divide=none", "popnorm:order=divide_first", "ws+gn"]


@pytest.mark.parametrize("norm", [*NORMS.choices(), *FORMS])
def test_resnet20_takes_every_norm(norm: str) -> None:
    if norm in NORMS.entries and NORMS.entries[norm].facts.graphs:
        pytest.skip("a norm for graphs")
    net = MODELS.build("resnet20", norm=norm, act="sigmoid", num_classes=3, in_channels=1)
    net(torch.randn(4, 1, 16, 16)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters() if p.requires_grad)


@pytest.mark.parametrize("act", ACTIVATIONS.choices())
def test_every_activation_is_a_function_of_one_tensor(act: str) -> None:
    layer = LayerFactory("none", act).activation()
    assert layer(torch.linspace(-3, 3, 7)).shape == (7,)


@pytest.mark.parametrize(
    ("norm", "order"),
    [
        ("none", ["Conv2d", "NoNorm", "Tanh"]),
        ("batchnorm", ["Conv2d", "BatchNorm", "Tanh"]),
        ("batchnorm:placement=before", ["BatchNorm", "Conv2d", "Tanh"]),
        ("popnorm", ["POPNorm", "Conv2d", "Tanh"]),
        ("popnorm:first=false", ["Conv2d", "Tanh"]),
    ],
)
def test_the_placement_of_the_norm_decides_the_order(norm: str, order: list[str]) -> None:
    assert kinds(LayerFactory(norm, "tanh").conv_norm_act(3, 4, 3, first=True)) == order


@pytest.mark.parametrize(
    ("norm", "order"),
    [("batchnorm", ["Linear"]), ("popnorm", ["POPNorm", "Linear"]), ("popnorm:classifier=no", ["Linear"])],
)
def test_only_a_norm_placed_before_normalizes_at_the_classifier(norm: str, order: list[str]) -> None:
    assert kinds(LayerFactory(norm).classifier(3, 4)) == order


@pytest.mark.parametrize(
    ("norm", "bias"), [("batchnorm", False), ("none", True), ("popnorm", True), ("bn:placement=before", True)]
)
def test_an_operation_has_a_bias_unless_the_norm_removes_its_effect(norm: str, bias: bool) -> None:
    conv = next(m for m in LayerFactory(norm).conv_norm_act(3, 4, 3).modules() if isinstance(m, nn.Conv2d))
    assert (conv.bias is not None) == bias


@pytest.mark.parametrize(
    ("model", "parameters", "norms"),
    [("resnet20", 269_722, 19), ("resnet20:option=B", 272_474, 21)],
)
def test_sizes_with_batchnorm_are_the_known_ones(model: str, parameters: int, norms: int) -> None:
    net = MODELS.build(model, norm="batchnorm", num_classes=10, in_channels=3)
    assert sum(p.numel() for p in net.parameters() if p.requires_grad) == parameters
    assert kinds(net).count("BatchNorm") == norms


def test_popnorm_precedes_all_twenty_operations_of_resnet20() -> None:
    assert kinds(MODELS.build("resnet20", norm="popnorm")).count("POPNorm") == 20
