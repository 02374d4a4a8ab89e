"""The optimizer decays every parameter except a learned phi, and a schedule that fails says which one it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.build import load_data, make_model
from normbench_cli.build.optim import make_optimizer, make_schedule
from normbench_cli.config import RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS


def config(**values: Any) -> RunConfig:
    return make_config({"data": "digits:size=8", "model": "mlp:size=8,width=16", **values})


def network(config: RunConfig) -> nn.Module:
    return make_model(config, load_data(config.data))


def changed_without_gradient(config: RunConfig) -> set[str]:
    """The parameters that a step changes although the loss does not depend on them: weight decay does."""
    model = network(config)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = make_optimizer(model, config)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "adam"])
@pytest.mark.parametrize("norm", ["diffphi", "batchnorm"])
def test_weight_decay_leaves_phi_alone_and_nothing_else(optimizer: str, norm: str) -> None:
    settings = config(norm=norm, optimizer=optimizer, weight_decay=0.1)
    nonzero = {name for name, parameter in network(settings).named_parameters() if parameter.any()}
    phis = {name for name in nonzero if "phi" in name}
    assert bool(phis) == (norm == "diffphi")
    assert changed_without_gradient(settings) == nonzero - phis


@pytest.mark.parametrize("norm", ["diffphi", "auggraphnorm", "batchnorm", "weightnorm"])
def test_every_parameter_is_in_exactly_one_group(norm: str) -> None:
    layer = NORMS.build(norm, op=nn.Linear(4, 4)) if norm == "weightnorm" else NORMS.build(norm, num_features=4)
    optimizer = make_optimizer(layer, config())
    grouped = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(map(id, layer.parameters()))


def test_without_weight_decay_nothing_moves_by_itself() -> None:
    assert changed_without_gradient(config(norm="diffphi", weight_decay=0)) == set()


def test_a_schedule_that_fails_is_named() -> None:
    with pytest.raises(UsageError, match="schedule 'step"):
        make_schedule(config(schedule="step:at=first/second"))(0.5)


@pytest.mark.parametrize("norm", ["batchnorm", "popnorm", "weightnorm"])
def test_weight_decay_on_weights_leaves_vectors_alone(norm: str) -> None:
    settings = config(norm=norm, weight_decay_on="weights")
    weights = {name for name, parameter in network(settings).named_parameters() if parameter.ndim > 1}
    assert changed_without_gradient(settings) == weights
