"""DiffPhi: phi stays in its range without being clamped, learns, and is not decayed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.build.optim import make_optimizer
from normbench_cli.config import make_config
from normbench_cli.models import MODELS
from normbench_cli.norms.diffphi import DiffPhi
from normbench_cli.norms.protocols import weight_decay_group
from normbench_cli.registry import NORMS
from tests.norms.gradients import grad_of


def test_survives_a_large_learning_rate_on_clustered_data() -> None:
    torch.manual_seed(0)
    layer = DiffPhi(6)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    target = torch.randn(4, 6, 3, 3)
    for _ in range(200):
        x = torch.randint(0, 2, (4, 6, 3, 3)) + 1e-3 * torch.randn(4, 6, 3, 3)
        optimizer.zero_grad()
        (layer(x) - target).square().mean().backward()
        assert all(torch.isfinite(grad_of(p)).all() for p in layer.parameters())
        optimizer.step()
        assert ((layer.phi >= 1.2) & (layer.phi <= 2.0)).all()
    assert grad_of(layer.phi_raw).abs().max() > 0
    assert (layer.phi - 1.5).abs().max() > 1e-4


def test_phi_has_a_gradient_at_the_edge_of_its_range() -> None:
    layer = DiffPhi(3)
    layer.load_state_dict({"phi_raw": torch.tensor([-5.0, 0, 5])}, strict=False)
    (layer(torch.randn(64, 3) ** 3) ** 3).sum().backward()
    assert (grad_of(layer.phi_raw).abs() > 0).all()


@pytest.mark.parametrize("spec", ["diffphi", "auggraphnorm:learn_phi=true"])
def test_phi_starts_at_its_initial_value(spec: str) -> None:
    assert torch.allclose(NORMS.build(spec, num_features=3).phi, torch.tensor(1.5))
    assert torch.allclose(DiffPhi(3, init=1.7).phi, torch.tensor(1.7))


@pytest.mark.parametrize(
    "layer_of", [lambda: DiffPhi(3, low=0.9), lambda: DiffPhi(3, init=2.5), lambda: DiffPhi(3, high=20.0)]
)
def test_impossible_range_is_refused(layer_of: Any) -> None:
    with pytest.raises(ValueError, match=r"does not hold|give a number above 1 and at most 16$"):
        layer_of()


def phis_of(model: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if name.endswith("phi_raw")}


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("copied", [False, True])
def test_weight_decay_leaves_phi_alone(optimizer: str, copied: bool) -> None:
    """A step with zero gradients moves what is decayed, and nothing else."""
    model = MODELS.build("mlp", norm="diffphi", act="relu", num_classes=10, in_channels=1)
    if copied:
        model = copy.deepcopy(model)
    config = make_config({"data": "digits", "optimizer": optimizer, "weight_decay": 0.1, "lr": 0.1})
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    stepper = make_optimizer(model, config)
    assert {id(p) for group in stepper.param_groups for p in group["params"]} == {id(p) for p in model.parameters()}
    stepper.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert phis_of(model)
    assert not moved & phis_of(model).keys()
    assert {name for name in before if name.endswith("weight") and before[name].any()} <= moved


@pytest.mark.parametrize("spec", ["diffphi", "auggraphnorm:learn_phi=true"])
@pytest.mark.parametrize(
    "copied",
    [
        lambda layer: layer,
        copy.deepcopy,
        lambda layer: pickle.loads(pickle.dumps(layer)),
        lambda layer: layer.to("meta").to_empty(device="cpu"),
    ],
)
def test_copies_of_a_layer_keep_phi_out_of_weight_decay(spec: str, copied: Any) -> None:
    layer = copied(NORMS.build(spec, num_features=3))
    assert {name: weight_decay_group(p) for name, p in layer.named_parameters() if weight_decay_group(p)} == {
        "phi_raw": "phi"
    }
