"""Initial weights: their size by scheme and gain, unit variance on a batch, gamma and beta."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli import build
from normbench_cli.build import load_images, make_model, make_training
from normbench_cli.build.init import initialize
from normbench_cli.build.unit_variance import scale_to_unit_variance
from normbench_cli.config import RunConfig, make_config
from normbench_cli.operations import Operation

SMALL = {"data": "digits:size=8", "model": "mlp:size=8,width=32,depth=2", "act": "tanh"}


def config(**values: Any) -> RunConfig:
    return make_config({**SMALL, **values})


def initialized(**values: Any) -> nn.Module:
    settings = config(**values)
    model = make_model(settings, load_images(settings.data))
    initialize(model, settings)
    return model


def operations(model: nn.Module) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, Operation)]


def fan_out_sd(op: Any) -> float:
    return float((2 / (op.weight.shape[0] * op.weight[0, 0].numel())) ** 0.5)


def test_torchvisions_scheme_is_fan_out_for_convolutions_and_torchs_own_for_the_classifier() -> None:
    *convolutions, classifier = operations(initialized(model="resnet20", init="torchvision"))
    assert [op.weight.std().item() / fan_out_sd(op) for op in convolutions] == pytest.approx([1] * 19, rel=0.1)
    assert classifier.weight.abs().max() <= 64**-0.5
    assert classifier.bias.any()


def test_fan_out_counts_the_outputs() -> None:
    assert [op.weight.std().item() / fan_out_sd(op) for op in operations(initialized(init="kaiming_fan_out"))][
        :2
    ] == pytest.approx([1, 1], rel=0.1)


@pytest.mark.parametrize("init", ["torch", "xavier", "kaiming_fan_out", "torchvision"])
def test_the_gain_multiplies_the_weights_and_nothing_else(init: str) -> None:
    once, thrice = (dict(initialized(init=init, init_gain=gain).named_parameters()) for gain in (1, 3))
    changed = {name for name in once if not torch.equal(once[name], thrice[name])}
    assert changed == {name for name, parameter in once.items() if parameter.ndim > 1}
    assert all(torch.allclose(3 * once[name], thrice[name]) for name in changed)


@pytest.mark.parametrize("sd", [1.0, 2.0])
@pytest.mark.parametrize("norm", ["none", "popnorm", "batchnorm", "weightnorm"])
def test_lsuv_gives_every_operation_outputs_of_the_asked_variance(norm: str, sd: float) -> None:
    model, inputs = initialized(init="lsuv", norm=norm), torch.randn(64, 1, 8, 8)
    found: list[float] = []
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    scale_to_unit_variance(model, inputs, sd)
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())
    for op in operations(model):
        op.register_forward_hook(lambda op, args, output: found.append(output.std(correction=0).item()))
    model.train()(inputs)
    assert found == pytest.approx([sd] * 3, rel=1e-4)


def test_a_training_with_lsuv_begins_with_unit_variance_on_its_first_batch() -> None:
    training = make_training(build.resolve(config(init="lsuv", norm="none", batch_size=64)))
    first = next(iter(training.train.epoch(1)))
    found: list[float] = []
    for op in operations(training.model):
        op.register_forward_hook(lambda op, args, output: found.append(output.std(correction=0).item()))
    training.model(first.inputs)
    assert found == pytest.approx([1] * 3, rel=1e-4)


@pytest.mark.parametrize("norm", ["batchnorm", "popnorm", "groupnorm", "augnorm", "ws+gn"])
def test_gamma_and_beta_begin_where_they_are_told_to(norm: str) -> None:
    usual, other = (
        initialized(norm=norm, model="resnet20", **values) for values in ({}, {"gamma_init": 0.25, "beta_init": 0.5})
    )
    plain = dict(usual.named_parameters())
    changed = {name: p.unique().item() for name, p in other.named_parameters() if not torch.equal(p, plain[name])}
    assert set(changed.values()) == {0.25, 0.5}
    assert len(changed) == 2 * (20 if norm == "popnorm" else 19)
