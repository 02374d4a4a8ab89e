"""What `convert` changes beside the norms themselves, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.norms import convert
from tests.norms.networks import Residual


def norm_first() -> nn.Sequential:
    return nn.Sequential(
        nn.BatchNorm2d(3),
        nn.ReLU(inplace=True),
        nn.ReLU(),
        nn.Conv2d(3, 3, 1),
        nn.Flatten(),
        nn.LeakyReLU(inplace=True),
    )


def test_only_activations_in_place_stop_being_in_place() -> None:
    net: Any = norm_first()
    had = [module for module in net if hasattr(module, "inplace")]
    report = convert(net, "none")
    assert [module for module in net if hasattr(module, "inplace")] == had
    assert not any(module.inplace for module in had)
    assert [key for key in report.notes if "activation" in key] == ["2 activations"]


@pytest.mark.parametrize("spec", ["groupnorm", "bn"])
def test_activations_stay_in_place_where_a_norm_stays_before_them(spec: str) -> None:
    net: Any = norm_first()
    assert convert(net, spec).notes == {}
    assert net[1].inplace


def test_activations_stay_in_place_where_an_operation_stays_before_them() -> None:
    net: Any = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    assert convert(net, "none").notes == {}
    assert net[2].inplace
    residual = Residual()
    assert list(convert(residual, "none", torch.randn(3, 4, 5, 5)).notes) == ["1 activations"]


@pytest.mark.parametrize("spec", ["groupnorm:groups=2", "augnorm"])
def test_parameters_and_statistics_of_another_shape_stay_behind(spec: str) -> None:
    net: Any = nn.Sequential(nn.BatchNorm1d(4))
    net[0].weight = nn.Parameter(torch.full((4, 1), 3.0))
    net[0].bias = nn.Parameter(torch.full((4,), 5.0))
    net[0].running_mean = torch.full((4, 1), 7.0)
    bias = net[0].bias
    convert(net, spec)
    assert torch.equal(net[0].weight, torch.ones(4))
    assert net[0].bias is bias
    if spec == "augnorm":
        assert torch.equal(net[0].running_mean, torch.zeros(4))


def test_hooks_that_are_gone_and_settings_without_a_place_are_reported() -> None:
    for kind in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
        net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))
        getattr(net[1], kind)(lambda *_: None)
        assert convert(net, "groupnorm").notes == {"1": "its hooks are gone"}
    notes = []
    for options in ({"track_running_stats": False}, {"momentum": None}, {}):
        net = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, **options))
        notes.append(convert(net, "augnorm").notes.get("1"))
    assert notes[0] == "it had no running statistics, the new layer has"
    assert notes[1] == "it averaged over all batches, the new layer has momentum 0.1"
    assert notes[2] is None
