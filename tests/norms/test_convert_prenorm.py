"""`convert` with norms that stand before operations: where they go, and the way back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.norms import NORMS, convert
from normbench_cli.norms._convert.prenorm import PreNorm
from tests.norms.networks import BEFORE, VISION, Residual, make, names_of, small, train_a_step


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in ("densenet121", "efficientnet_b0") else [])
        for name in (*VISION, "volumes")
    ],
)
def test_norms_before_operations_in_every_model(name: str) -> None:
    net, x = make(name)
    shown = convert(copy.deepcopy(net), BEFORE, example=x)
    report = convert(net, BEFORE)
    assert set(shown.in_front) == set(report.in_front)  # what a run shows is what the order of definition suggests
    assert set(shown.biases) == set(report.biases)
    operations = {"resnet18": 21, "densenet121": 121, "mobilenet_v2": 53, "efficientnet_b0": 50, "vgg16_bn": 14}
    assert len(report.in_front) == len(names_of(net, PreNorm)) == operations.get(name, 3)
    assert all(wrapped.bias is not None for wrapped in net.modules() if isinstance(wrapped, PreNorm))
    assert set(report.converted.values()) == {"none"}
    train_a_step(net, x)


@pytest.mark.parametrize(
    ("spec", "in_front", "first_kind"),
    [
        (BEFORE, {"0": "it fed 1", "3": "the classifier"}, PreNorm),
        (f"{BEFORE}:first=false", {"3": "the classifier"}, nn.Conv2d),
        (f"{BEFORE}:classifier=false", {"0": "it fed 1"}, PreNorm),
    ],
)
def test_first_and_last_operation_are_options(spec: str, in_front: dict[str, str], first_kind: type[Any]) -> None:
    net = small()
    report = convert(net, spec)
    assert report.in_front == in_front
    assert report.biases == ["0"]
    assert isinstance(net[0], first_kind)
    assert [type(m).__name__ for m in (net[1], net[2])] == ["NoNorm", "ReLU"]
    assert net[0].bias is not None
    assert net[0].out_channels == 4


def test_an_operation_with_a_norm_before_it_still_copies_saves_and_compiles() -> None:
    net = small()
    convert(net, "bn:placement=before")
    x = torch.randn(4, 3, 5, 5)
    copied = copy.deepcopy(net)
    copied.load_state_dict(net.state_dict())
    torch.testing.assert_close(torch.compile(copied, fullgraph=True, backend="aot_eager")(x), net(x))
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = net[0].nothing_of_that_name


def test_a_model_with_norms_before_operations_converts_back() -> None:
    net = small()
    convert(net, BEFORE)
    report = convert(net, "batchnorm")
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm", "ReLU", "Conv2d"]
    assert report.converted == {"0.norm": "none", "1": "batchnorm", "3.norm": "none"}
    again = convert(net, BEFORE)
    assert convert(net, BEFORE).in_front == {}  # those that stand there are swapped where they are
    assert len(names_of(net, PreNorm)) == len(again.in_front) == 2


@NORMS.register("led", placement="before")
class Led(nn.Module):
    """A norm that belongs before operations, as a network was built with it."""

    num_features = 3

    def forward(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(("spec", "kind"), [("bn:placement=before", "BatchNorm"), ("wn", "NoNorm"), ("bn", "Led")])
def test_norms_built_before_operations_are_swapped_there(spec: str, kind: str) -> None:
    net = nn.Sequential(Led(), nn.Linear(3, 3), nn.Tanh(), Led(), nn.Linear(3, 3))
    report = convert(net, spec)
    assert [type(net[0]).__name__, type(net[3]).__name__] == [kind, kind]
    assert report.in_front == {}
    assert set(report.kept) == ({"0", "3"} if kind == "Led" else set())


def test_linear_layers_may_have_their_features_last() -> None:
    net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(7), nn.Linear(6, 2))
    convert(net, "bn:placement=before", torch.randn(4, 7, 5))
    assert net(torch.randn(4, 7, 5)).shape == (4, 7, 2)


def test_a_run_shows_an_order_that_the_definition_hides() -> None:
    net, x = Residual().train(), torch.randn(3, 4, 5, 5)
    report = convert(net, BEFORE, x)
    assert report.in_front == {"conv1": "it fed norm2", "conv2": "norm2 fed it", "last": "the classifier"}
    assert net.training
    assert net.act.inplace is False
    assert "activations" in next(iter(report.notes))


@pytest.mark.parametrize("kind", [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.Conv1d, nn.Conv3d])
def test_every_convolution_is_an_operation(kind: type[Any]) -> None:
    net = nn.Sequential(kind(3, 4, 2, bias=False), nn.BatchNorm2d(4), nn.ReLU(), kind(4, 5, 1))
    report = convert(net, BEFORE)
    assert report.in_front == {"0": "it fed 1", "3": "the classifier"}
    assert report.biases == ["0"]


def test_the_operation_gets_its_keyword_arguments() -> None:
    op = nn.ConvTranspose2d(3, 4, 3, stride=2)
    wrapped, x = PreNorm(nn.Identity(), op), torch.randn(2, 3, 5, 5)
    torch.testing.assert_close(wrapped(x, output_size=[12, 12]), op(x, output_size=[12, 12]))
