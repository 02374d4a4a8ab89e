"""What a probe chooses to observe: the block, its norm, a channel, the weights; and running statistics that drift."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from normbench_cli.measure.probes import Drift, Probes, first_block, is_batch_norm, weights_of


def pair() -> nn.Sequential:
    """Two operations."""
    return nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))


def normalized() -> nn.Module:
    """One operation, which has two norms of weights."""
    op: nn.Module = parametrizations.weight_norm(nn.Linear(2, 2))
    return op


@pytest.mark.parametrize(
    ("model", "block"),
    [
        (nn.Linear(2, 2), ""),
        (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), ""),  # numbered, but of one operation each
        (nn.Sequential(nn.Linear(2, 2), pair(), pair()), "1"),
        (nn.Sequential(nn.Sequential(nn.Linear(2, 2)), pair()), "1"),
        (nn.Sequential(nn.Sequential(nn.ReLU(), nn.ReLU()), pair()), "1"),
        (nn.Sequential(nn.Sequential(normalized()), pair()), "1"),
        (nn.Sequential(nn.Sequential(pair(), pair()), pair()), "0.0"),  # the innermost
        (nn.Sequential(*[nn.Linear(2, 2)] * 10, pair()), "10"),  # two digits
        (nn.ModuleDict({"layer1": pair()}), ""),  # not numbered: the end of a name does not count
        (nn.ModuleDict({"layer1": nn.Sequential(pair())}), "layer1.0"),
        (nn.Sequential(nn.Sequential(*[nn.Linear(2, 2)] * 1, nn.Sequential(pair(), pair()))), "0.1.0"),
    ],
    ids=str,
)
def test_the_block_is_the_first_innermost_numbered_module_of_several_operations(model: nn.Module, block: str) -> None:
    assert first_block(model) == block


def test_one_block_is_not_inside_another_whose_name_begins_alike() -> None:
    filler = [nn.ReLU() for _ in range(8)]
    assert first_block(nn.Sequential(nn.ReLU(), pair(), *filler, pair())) == "1"  # and 10 is a sibling


def test_a_block_that_is_named_is_observed_instead() -> None:
    model = nn.Sequential(pair(), nn.Linear(2, 3), nn.BatchNorm1d(3))
    probes = Probes(model, block="1")
    probes.after_step(1)
    latest, _ = probes.read()
    assert probes.block == "1"
    assert latest == pytest.approx(
        dict.fromkeys(("weights/l2", "weights/l2/weight"), model.get_parameter("1.weight").norm().item())
    )
    whole = Probes(model, block="")
    whole.after_step(1)
    assert {"weights/l2/0.0", "weights/l2/0.1", "weights/l2/1", "bn/beta_minus_mu"} <= whole.read()[0].keys()


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.BatchNorm1d(3), True),
        (nn.BatchNorm2d(3), True),
        (nn.BatchNorm2d(3, affine=False), False),
        (nn.BatchNorm2d(3, track_running_stats=False), False),
        (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), True),
        (nn.GroupNorm(1, 3), False),
        (nn.LayerNorm(3), False),
        (nn.Linear(3, 3), False),
    ],
    ids=str,
)
def test_a_batch_norm_has_gamma_beta_and_running_statistics(module: nn.Module, expected: bool) -> None:
    assert is_batch_norm(module) == expected


@pytest.mark.parametrize("channel", [0, 2])
def test_every_channel_of_the_norm_can_be_observed(channel: int) -> None:
    model = nn.Sequential(pair(), nn.Linear(2, 3), nn.BatchNorm1d(3))
    probes = Probes(model, block="", channel=channel)
    x = torch.randn(8, 2)
    model(x)
    probes.after_step(1)
    with torch.no_grad():
        values = model[1](model[0](x))[:, channel]
    assert probes.read()[0]["bn/beta_minus_mu"] == pytest.approx(values.mean().abs().item(), abs=1e-6)


@pytest.mark.parametrize("channel", [-1, 3])
def test_a_channel_outside_the_norm_is_refused(channel: int) -> None:
    with pytest.raises(ValueError, match=f"channel is {channel}; the norm has 3"):
        Probes(nn.BatchNorm1d(3), channel=channel)


def test_a_channel_that_is_not_given_is_drawn_with_the_seed_alone() -> None:
    torch.manual_seed(0)
    drawn = [Probes(nn.BatchNorm1d(1000), seed=seed).channel for seed in (0, 1, 0)]
    assert drawn[0] == drawn[2] != drawn[1]
    rest = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(rest, torch.rand(1))
    assert Probes(nn.BatchNorm1d(1000)).channel == drawn[0]


@pytest.mark.parametrize(
    ("op", "sources"),
    [
        (nn.Linear(2, 3), {"weights/l2/weight": "weight"}),
        (nn.ConvTranspose2d(2, 3, 1), {"weights/l2/weight": "weight"}),
        (
            parametrizations.spectral_norm(nn.Linear(2, 3)),
            {"weights/l2/weight": "parametrizations.weight.original"},
        ),
        (
            parametrizations.weight_norm(nn.Conv2d(2, 3, 1)),
            {
                "weights/l2/weight": "parametrizations.weight.original1",
                "weights/l2_g/weight": "parametrizations.weight.original0",
            },
        ),
        (nn.BatchNorm1d(3), {}),
    ],
    ids=str,
)
def test_the_weights_that_are_learned(op: nn.Module, sources: dict[str, str]) -> None:
    found = dict(weights_of(op))
    assert list(found) == list(sources)
    assert all(found[name] is op.get_parameter(source) for name, source in sources.items())


def test_the_joint_norm_is_that_of_directions_without_lengths() -> None:
    model = nn.Sequential(normalized(), nn.Linear(2, 2))
    probes = Probes(model)
    probes.after_step(1)
    latest, _ = probes.read()
    assert latest["weights/l2"] == pytest.approx(math.hypot(latest["weights/l2/0"], latest["weights/l2/1"]))
    assert latest["weights/l2_g/0"] > 0


def test_drift_is_over_all_running_statistics_and_nothing_else() -> None:
    model = nn.Sequential(nn.BatchNorm1d(1), nn.BatchNorm1d(1))
    model.register_buffer("mean", torch.ones(3))
    means = [model.get_buffer(f"{index}.running_mean") for index in (0, 1)]
    for mean, value in zip(means, (3.0, 4.0), strict=True):
        mean.fill_(value)
    drift = Drift(model)
    means[0].add_(3.0)
    means[1].add_(4.0)
    found, series = drift.read()
    assert found == pytest.approx({"drift/running_mean": 1.0, "drift/running_var": 0.0})
    assert series == {}


def test_drift_from_zero_is_finite() -> None:
    model = nn.BatchNorm1d(2)
    drift = Drift(model)
    assert drift.read()[0]["drift/running_mean"] == 0.0
    model.get_buffer("running_mean").fill_(1.0)
    assert math.isfinite(drift.read()[0]["drift/running_mean"])
