"""Norms of any model are replaced in place; what was learned is kept, and what was not converted is reported."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.errors import UsageError
from normbench_cli.norms import NORMS, convert
from normbench_cli.norms._convert.plan import plan_conversion
from normbench_cli.norms._convert.prenorm import PreNorm
from tests.norms.networks import BEFORE, VISION, Residual, make, small, train_a_step

SAME = ["batchnorm", "augnorm:phi=2"]


def with_statistics(net: Any) -> Any:
    """As if it had been trained: every norm has statistics and parameters of its own."""
    for seed, norm in enumerate(m for m in net.modules() if hasattr(m, "running_var")):
        torch.manual_seed(seed)
        norm.running_mean.normal_(0, 0.1)
        norm.running_var.uniform_(0.5, 1.5)
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.normal_(0, 0.1)
    return net


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        pytest.param(name, spec, marks=[pytest.mark.slow] if name in ("vgg16_bn", "densenet121") else [])
        for name in (*VISION, "volumes")
        for spec in SAME
    ],
)
def test_the_same_normalization_gives_the_same_outputs_and_trains(name: str, spec: str) -> None:
    net, x = make(name)
    with torch.no_grad():
        expected = with_statistics(net).eval()(x)
        report = convert(net, spec)
        torch.testing.assert_close(net(x), expected, rtol=1e-5, atol=1e-5)
    assert len(report.converted) == VISION.get(name, 2)
    assert [report.kept, report.biases, report.notes] == [{}, [], {}]
    train_a_step(net, x)


@pytest.mark.parametrize("spec", ["wn", "ws+gn", "none", "layernorm"])
@pytest.mark.parametrize("name", ["resnet18", "densenet121", "volumes"])
def test_other_norms_train_in_every_model(name: str, spec: str) -> None:
    net, x = make(name)
    assert len(convert(net, spec).converted) == VISION.get(name, 2)
    train_a_step(net, x)


def test_the_new_norm_has_the_parameters_settings_dtype_and_mode_of_the_old_one() -> None:
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


@pytest.mark.parametrize("spec", ["none", "wn", BEFORE])
def test_the_bias_of_an_operation_takes_over_beta(spec: str) -> None:
    net = small()
    nn.init.constant_(net.get_parameter("1.bias"), 3.0)
    report = convert(net, spec)
    assert report.biases == ["0"]
    operation = net[0].op if isinstance(net[0], PreNorm) else net[0]
    assert torch.equal(operation.get_parameter("bias"), torch.full((4,), 3.0))


def test_weight_standardization_is_for_operations_that_a_norm_follows() -> None:
    net = small()
    report = convert(net, "ws+gn:groups=2")
    assert report.weights == ["0"]
    assert report.converted == {"1": "groupnorm:groups=2"}
    assert convert(small(), "wn+bn").weights == ["0", "3"]
    assert convert(net, "wn").kept == {"0": "its weight is computed from other parameters already"}


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


def everything_about(net: nn.Module) -> list[Any]:
    """All that a conversion could change, down to which objects the modules are."""
    modules = [(name, m, m.training, getattr(m, "inplace", None), *m._forward_hooks) for name, m in net.named_modules()]
    return [modules, [(name, p, p.detach().clone()) for name, p in net.state_dict(keep_vars=True).items()]]


def assert_unchanged(net: nn.Module, before: list[Any]) -> None:
    now = everything_about(net)
    assert now[0] == before[0]
    for (name, p, value), (name_before, p_before, value_before) in zip(now[1], before[1], strict=True):
        assert name == name_before
        assert p is p_before
        assert torch.equal(value, value_before)


@pytest.mark.parametrize(
    "spec", ["bn+gn", "nonsense", "bn:epz=1", "wn+groupnorm:groups=0", "gn:groups=3", "wn+cwn:scale=0", "bn+sn:eps=x"]
)
def test_a_wrong_spec_changes_nothing(spec: str) -> None:
    net = small()
    before, random = everything_about(net), torch.get_rng_state()
    with pytest.raises(UsageError):
        convert(net, spec)
    assert_unchanged(net, before)
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize("example", [None, torch.randn(3, 4, 5, 5)], ids=["definition", "run"])
@pytest.mark.parametrize("spec", ["bn", "none", "sn+gn", BEFORE])
def test_planning_changes_nothing(spec: str, example: Tensor | None) -> None:
    net = Residual()
    before, random = everything_about(net), torch.get_rng_state()
    assert str(plan_conversion(net, spec, example).report) == str(convert(copy.deepcopy(net), spec, example))
    assert_unchanged(net, before)
    if "sn" not in spec:  # its vectors are drawn when the plan is applied
        assert torch.equal(torch.get_rng_state(), random)
