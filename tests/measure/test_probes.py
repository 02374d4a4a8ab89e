"""Probes against the same quantities computed by hand; observing changes nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parameter import Parameter

from normbench_cli.measure.probes import Drift, ModeGap, Probes, first_block, is_batch_norm, mode_gap
from normbench_cli.models import MODELS


def resnet(norm: str = "batchnorm") -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module = MODELS.build("resnet20", norm=norm, num_classes=3, in_channels=1)
    return model


def observed(values: list[float]) -> list[bool]:
    """Which steps of a series have a value."""
    return [not math.isnan(value) for value in values]


def train(net: nn.Module, steps: int, probes: Probes | None = None) -> None:
    draw = torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(1, steps + 1):
        x, y = torch.randn(8, 1, 8, 8, generator=draw), torch.randint(0, 3, (8,), generator=draw)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        if probes:
            probes.after_step(step)


def test_norms_of_the_weights_of_the_first_block() -> None:
    net = resnet()
    probes = Probes(net)
    train(net, 2, probes)
    latest, series = probes.read()
    convs = {
        name: m.weight for name, m in net.get_submodule(first_block(net)).named_modules() if isinstance(m, nn.Conv2d)
    }
    assert len(convs) == 2
    for name, weight in convs.items():
        assert latest[f"weights/l2/{name}"] == pytest.approx(weight.norm().item(), rel=1e-6)
    joint = torch.cat([weight.flatten() for weight in convs.values()]).norm().item()
    assert latest["weights/l2"] == pytest.approx(joint, rel=1e-6)
    assert all(len(values) == 2 for values in series.values())
    assert probes.read() == ({}, {})


def test_the_chosen_channel_of_the_first_batch_norm() -> None:
    net = resnet()
    norm = next(m for m in net.get_submodule(first_block(net)).modules() if is_batch_norm(m))
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    seen: list[tuple[Tensor, Tensor, Tensor]] = []

    def keep(norm: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        gamma, beta = (p.detach().clone() for p in norm.parameters())
        seen.append((inputs[0], gamma, beta))

    norm.register_forward_hook(keep)
    probes = Probes(net, every=2, channel=3)
    train(net, 5, probes)
    _, series = probes.read()
    assert observed(series["weights/l2"]) == [True, False, True, False, True]  # each in its own step
    assert observed(series["bn/beta_minus_mu"]) == [True, False, True, False, True]
    for row, (x, gamma, beta) in list(enumerate(seen))[::2]:
        values = x[:, 3].double()
        want = (gamma[3] ** 2 - values.var(correction=0)).abs(), (beta[3] - values.mean()).abs()
        assert series["bn/gamma2_minus_sigma2"][row] == pytest.approx(want[0].item(), rel=1e-4)
        assert series["bn/beta_minus_mu"][row] == pytest.approx(want[1].item(), rel=1e-4, abs=1e-6)


def test_a_series_begins_after_the_last_reading() -> None:
    net = resnet()
    probes = Probes(net, every=3)
    train(net, 2, probes)
    probes.read()
    for step in (3, 4, 5):
        probes.after_step(step)
    latest, series = probes.read()
    assert observed(series["weights/l2"]) == [False, True, False]
    assert latest["weights/l2"] == pytest.approx(series["weights/l2"][1])


def test_direction_and_length_of_weight_normalized_layers() -> None:
    net = resnet("weightnorm")
    probes = Probes(net)
    train(net, 1, probes)
    latest, _ = probes.read()
    op = next(m for m in net.get_submodule(first_block(net)).modules() if isinstance(m, nn.Conv2d))
    g, v = (op.get_parameter(f"parametrizations.weight.original{i}") for i in (0, 1))
    name = next(key.removeprefix("weights/l2_g/") for key in latest if key.startswith("weights/l2_g/"))
    assert latest[f"weights/l2_g/{name}"] == pytest.approx(g.norm().item(), rel=1e-6)
    assert latest[f"weights/l2/{name}"] == pytest.approx(v.norm().item(), rel=1e-6)
    assert "bn/beta_minus_mu" not in latest


def test_phi_of_layers_that_learn_it() -> None:
    class Learns(nn.Module):
        def __init__(self, phi: list[float]) -> None:
            super().__init__()
            self.raw = nn.Parameter(torch.tensor(phi))

        @property
        def phi(self) -> Parameter:
            return self.raw

        def forward(self, x: Any) -> Any:
            return x

    net = nn.Sequential(nn.Linear(2, 2), Learns([1.2, 1.4]), nn.Linear(2, 2), Learns([2.0]))
    probes = Probes(net)
    probes.after_step(1)
    latest, _ = probes.read()
    assert [latest[f"phi/{name}"] for name in ("min", "max")] == pytest.approx([1.2, 2.0])
    assert latest["phi/mean"] == pytest.approx(4.6 / 3)


def test_observing_changes_nothing() -> None:
    plain, probed = resnet(), resnet()
    train(plain, 3)
    probes = Probes(probed)
    drift = Drift(probed)
    train(probed, 3, probes)
    probes.read()
    drift.read()
    torch.testing.assert_close(probed.state_dict(), plain.state_dict(), rtol=0, atol=0)


def test_evaluation_is_not_observed() -> None:
    net = resnet()
    probes = Probes(net)
    train(net, 1, probes)
    with torch.no_grad():
        net.eval()(torch.randn(4, 1, 8, 8))
    probes.after_step(2)
    _, series = probes.read()
    assert observed(series["bn/beta_minus_mu"]) == [True, False]


def test_drift_of_running_statistics() -> None:
    net = nn.BatchNorm1d(2)
    mean = net.get_buffer("running_mean")
    mean.copy_(torch.tensor([3.0, 4.0]))
    drift = Drift(net)
    mean.copy_(torch.tensor([3.0, 5.0]))
    assert drift.read()[0] == pytest.approx({"drift/running_mean": 0.2, "drift/running_var": 0.0})
    assert drift.read()[0] == pytest.approx({"drift/running_mean": 0.0, "drift/running_var": 0.0})


@pytest.mark.parametrize("training", [True, False])
def test_gap_between_the_modes(training: bool) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2)).train(training)
    x, y = torch.randn(16, 3), torch.randint(0, 2, (16,))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    torch.manual_seed(5)
    gap = mode_gap(net, x, y)
    assert ModeGap(net, x, y).read()[0].keys() == {"mode_gap"}
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(1))
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)
    assert net.training is training
    torch.manual_seed(5)
    with torch.no_grad():
        want = F.cross_entropy(net.eval()(x), y)
        want = want - F.cross_entropy(net.train()(x), y)
    assert gap.item() == pytest.approx(want.item(), abs=1e-6)


@pytest.mark.parametrize(
    ("net", "block"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)), ""),
        (nn.ModuleDict({"layer1": nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))}), "layer1.0"),
    ],
)
def test_the_first_block_is_found(net: nn.Module, block: str) -> None:
    assert first_block(net) == block


@pytest.mark.parametrize("norm", ["none", "batchnorm", "popnorm", "weightnorm", "spectralnorm"])
def test_it_is_the_same_block_under_every_norm(norm: str) -> None:
    assert first_block(MODELS.build("resnet20", norm=norm)) == "stages.0.0"


def test_wrong_settings_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="every is 0; give 1 or more"):
        Probes(resnet(), every=0)
    with pytest.raises(ValueError, match="channel is 99; the norm has 16"):
        Probes(resnet(), channel=99)
