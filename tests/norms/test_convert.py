"""Norms of any model are swapped in place; what was learned is kept, and what was not converted is said."""

from __future__ import annotations

import copy
import warnings
from functools import lru_cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.errors import UsageError
from normbench_cli.norms import NORMS
from normbench_cli.norms._convert.convert import convert
from normbench_cli.norms._convert.prenorm import PreNorm

VISION = {"resnet18": 20, "mobilenet_v2": 52, "densenet121": 121, "efficientnet_b0": 49, "vgg16_bn": 13}  # norms
SAME = ["batchnorm", *(["augnorm:phi=2"] if "augnorm" in NORMS.entries else [])]
BEFORE = "popnorm" if "popnorm" in NORMS.entries else "bn:placement=before"


def volumes() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv3d(2, 4, 3, bias=False), nn.BatchNorm3d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(32, 6),
        nn.BatchNorm1d(6, eps=1e-3), nn.Tanh(), nn.Linear(6, 3),
    )  # fmt: skip


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 5, 1))


def make(name: str) -> tuple[Any, ...]:
    torch.manual_seed(0)
    x = torch.randn(4, 2, 4, 4, 4) if name == "volumes" else torch.randn(2, 3, 64, 64)
    return copy.deepcopy(original(name)), x


@lru_cache
def original(name: str) -> Any:
    if name == "volumes":
        return volumes()
    net = getattr(import_torchvision().models, name)(num_classes=3)
    if name == "vgg16_bn":  # without the hundred million parameters of its first linear layer
        net.avgpool, net.classifier[0] = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 4096)
    return net


def kinds(model: Any, kind: type[Any]) -> list[str]:
    return [name for name, m in model.named_modules() if isinstance(m, kind)]


def train_a_step(net: Any, x: Tensor) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    loss = net.train()(x).square().mean()
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
    optimizer.step()
    assert loss.isfinite()


def with_statistics(net: Any) -> Any:
    """As if it had been trained: every norm has statistics and parameters of its own."""
    for seed, norm in enumerate(m for m in net.modules() if hasattr(m, "running_var")):
        torch.manual_seed(seed)
        norm.running_mean.normal_(0, 0.1)
        norm.running_var.uniform_(0.5, 1.5)
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.normal_(0, 0.1)
    return net


@pytest.mark.parametrize("spec", SAME)
@pytest.mark.parametrize("name", [*VISION, "volumes"])
def test_the_same_normalization_gives_the_same_outputs_and_trains(name: str, spec: str) -> None:
    net, x = make(name)
    with torch.no_grad():
        expected = with_statistics(net).eval()(x)
        report = convert(net, spec)
        torch.testing.assert_close(net(x), expected, rtol=1e-5, atol=1e-5)
    assert len(report.converted) == VISION.get(name, 2)
    assert [report.kept, report.biases, report.notes] == [{}, [], {}]
    train_a_step(net, x)


@pytest.mark.parametrize("name", [*VISION, "volumes"])
def test_norms_before_operations_in_every_model(name: str) -> None:
    net, x = make(name)
    shown = convert(copy.deepcopy(net), BEFORE, example=x)
    report = convert(net, BEFORE)
    assert set(shown.in_front) == set(report.in_front)  # what a run shows is what the order of definition suggests
    assert set(shown.biases) == set(report.biases)
    operations = {"resnet18": 21, "densenet121": 121, "mobilenet_v2": 53, "efficientnet_b0": 50, "vgg16_bn": 14}
    assert len(report.in_front) == len(kinds(net, PreNorm)) == operations.get(name, 3)
    assert all(wrapped.bias is not None for wrapped in net.modules() if isinstance(wrapped, PreNorm))
    assert set(report.converted.values()) == {"none"}
    train_a_step(net, x)


@pytest.mark.parametrize("spec", ["wn", "ws+gn", "none", "layernorm"])
@pytest.mark.parametrize("name", ["resnet18", "densenet121", "volumes"])
def test_other_kinds_train_in_every_model(name: str, spec: str) -> None:
    net, x = make(name)
    assert len(convert(net, spec).converted) == VISION.get(name, 2)
    train_a_step(net, x)


def test_a_norm_keeps_its_parameters_settings_dtype_and_mode() -> None:
    net = with_statistics(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, eps=1e-3, momentum=0.3))).double().eval()
    net.append(nn.BatchNorm2d(4, affine=False))
    old = net[1]
    convert(net, "batchnorm")
    new = net[1]
    assert new.weight is old.weight
    assert (new.eps, new.momentum, new.training, new.running_var.dtype) == (1e-3, 0.3, False, torch.float64)
    assert torch.equal(new.running_var, old.running_var)
    assert net[2].weight is None
    assert convert(small(), "bn:eps=1e-5").converted
    net = nn.Sequential(nn.BatchNorm2d(4, eps=1e-3))
    convert(net, "batchnorm:eps=1e-5")  # what the spec says goes before what the old layer had
    assert net[0].eps == 1e-5


def test_missing_statistics_and_cumulative_averages_survive() -> None:
    net = nn.Sequential(nn.BatchNorm1d(4, track_running_stats=False), nn.BatchNorm1d(4, momentum=None))
    x = torch.randn(8, 4)
    expected = copy.deepcopy(net)
    convert(net, "bn")
    for mode in (True, False):
        torch.testing.assert_close(net.train(mode)(x), expected.train(mode)(x))


@pytest.mark.parametrize(
    ("spec", "in_front", "first_kind"),
    [
        (BEFORE, {"0": "it fed 1", "3": "the classifier"}, PreNorm),
        (f"{BEFORE},first=false", {"3": "the classifier"}, nn.Conv2d),
        (f"{BEFORE},classifier=false", {"0": "it fed 1"}, PreNorm),
    ],
)
def test_first_and_last_operation_are_options(spec: str, in_front: dict[str, str], first_kind: type[Any]) -> None:
    spec = spec if ":" in BEFORE else spec.replace(",", ":", 1)
    net = small()
    report = convert(net, spec)
    assert report.in_front == in_front
    assert report.biases == ["0"]
    assert isinstance(net[0], first_kind)
    assert [type(m).__name__ for m in net[1:3]] == ["NoNorm", "ReLU"]
    assert net[0].bias is not None
    assert net[0].out_channels == 4


def test_an_operation_behind_a_norm_still_copies_saves_and_compiles() -> None:
    net = small()
    convert(net, "bn:placement=before")
    x = torch.randn(4, 3, 5, 5)
    copied = copy.deepcopy(net)
    copied.load_state_dict(net.state_dict())
    torch.testing.assert_close(torch.compile(copied, fullgraph=True, backend="aot_eager")(x), net(x))
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = net[0].nothing_of_that_name


def test_the_way_back_from_before() -> None:
    net = small()
    convert(net, BEFORE)
    report = convert(net, "batchnorm")
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm", "ReLU", "Conv2d"]
    assert report.converted == {"0.norm": "none", "1": "batchnorm", "3.norm": "none"}
    again = convert(net, BEFORE)
    assert convert(net, BEFORE).in_front == {}  # those that stand there are swapped where they are
    assert len(kinds(net, PreNorm)) == len(again.in_front) == 2


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


@pytest.mark.parametrize("spec", ["none", "wn", BEFORE])
def test_the_bias_of_an_operation_takes_over_beta(spec: str) -> None:
    net = small()
    net[1].bias.data = torch.arange(4.0)
    report = convert(net, spec)
    assert report.biases == ["0"]
    assert torch.equal(net[0].bias.data, torch.arange(4.0))


def test_weight_standardization_is_for_operations_that_a_norm_follows() -> None:
    net = small()
    report = convert(net, "ws+gn:groups=2")
    assert report.weights == ["0"]
    assert report.converted == {"1": "groupnorm:groups=2"}
    assert convert(small(), "wn+bn").weights == ["0", "3"]
    assert convert(net, "wn").kept == {"0": "its weight is computed from other parameters already"}


class Residual(nn.Module):
    """Pre-activation order, defined in an order that says nothing: only a run shows what stands where."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.norm2, self.norm1 = nn.ReLU(inplace=True), nn.BatchNorm2d(6), nn.BatchNorm2d(4)
        self.last, self.conv2, self.conv1 = (nn.Conv2d(4, 2, 1), nn.Conv2d(6, 4, 1, bias=False), nn.Conv2d(4, 6, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv2(self.act(self.norm2(self.conv1(self.act(self.norm1(x))))))
        return self.last(x + y)


def test_a_run_shows_the_order_that_the_definition_hides() -> None:
    net, x = Residual().train(), torch.randn(3, 4, 5, 5)
    report = convert(net, BEFORE, x)
    assert report.in_front == {"conv1": "it fed norm2", "conv2": "norm2 fed it", "last": "the classifier"}
    assert net.training
    assert net.act.inplace is False
    assert "activations" in next(iter(report.notes))


def test_without_a_norm_the_shortcut_is_not_overwritten() -> None:
    net, x = Residual(), torch.randn(3, 4, 5, 5)
    convert(net, "none", x)
    kept = x.clone()
    net(x)
    assert torch.equal(x, kept)


class Odd(nn.Module):
    """Everything that cannot be converted, and a norm that is used twice."""

    class Own(nn.BatchNorm2d):
        def forward(self, x: Any) -> Any:
            return super().forward(x).relu()

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.BatchNorm2d(3)
        self.again = self.twice
        self.own, self.group, self.layer = self.Own(3), nn.GroupNorm(1, 3), nn.LayerNorm([4, 4])
        self.lazy, self.sync = nn.LazyBatchNorm2d(), nn.SyncBatchNorm(3)
        self.graph = NORMS.build("graphnorm", num_features=3)


def test_the_report_says_what_is_kept_and_why() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lazy layers announce themselves
        net = Odd()
    report = convert(net, "groupnorm")
    assert net.twice is net.again
    assert report.converted == {"twice": "groupnorm", "sync": "groupnorm"}
    assert set(report.kept) == {"own", "group", "layer", "lazy", "graph"}
    assert "changes the forward" in report.kept["own"]
    assert "last 2 dimension" in report.kept["layer"]
    assert "between processes" in report.notes["sync"]
    assert "2 norms became groupnorm\nkept own: Own changes" in str(report)
    assert str(convert(nn.Sequential(nn.ReLU()), "bn")) == "nothing to convert"


@pytest.mark.parametrize("net", [nn.BatchNorm2d(3), nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(3))])
def test_a_norm_without_a_place_is_kept(net: nn.Module) -> None:
    assert len(convert(net, "none").kept) == 1


def test_shared_weights_are_not_wrapped() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    assert convert(net, "wn").kept == {"0": "other modules share its weight", "1": "other modules share its weight"}


@pytest.mark.parametrize("spec", ["bn+gn", "nonsense", "bn:epz=1", "wn+groupnorm:groups=0"])
def test_a_wrong_spec_changes_nothing(spec: str) -> None:
    net = small()
    before = set(net.state_dict())
    with pytest.raises(UsageError):
        convert(net, spec)
    assert set(net.state_dict()) == before
