"""A whole training step on torch's `meta` device, where reading a value raises and so does a tensor left on the CPU.

What passes here makes no step wait for an accelerator, and leaves no part of a model on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.build import ResolvedConfig, make_training
from normbench_cli.config import RunConfig
from normbench_cli.datasets._graphs.dataset import make_graph_dataset
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.engine.epoch_meter import EpochMeter
from normbench_cli.engine.evaluate import correct
from normbench_cli.engine.protocols import Data
from normbench_cli.engine.step import set_learning_rate, train_step
from normbench_cli.models import LayerFactory
from normbench_cli.registry import MODELS, NORMS, OBJECTIVES
from tests.source import FILES, parsed, place, text

META = torch.device("meta")
IMAGE_MODELS = [name for name, entry in MODELS.entries.items() if not entry.facts.graphs]
LARGE = ("densenet121", "resnet101", "efficientnetb0", "mobilenetv2", "vgg19", "resnet18_imagenet")
IMAGE_NORMS = [name for name, entry in NORMS.entries.items() if not entry.facts.graphs]
GRAPH_MODELS = [name for name, entry in MODELS.entries.items() if entry.facts.graphs]


@pytest.fixture
def step() -> Callable[..., Any]:
    """Takes two steps of a config: cropped and flipped batches, forward, loss, backward, optimizer, counters."""
    images, labels = torch.zeros(12, 3, 32, 32, dtype=torch.uint8), torch.zeros(12, dtype=torch.long)
    split = Split(images, labels)
    data = InMemoryImages(split, split, 10, (0.5,) * 3, (0.2,) * 3, augment="crop_flip")

    def steps(**values: Any) -> None:
        given = {"epochs": 1, "batch_size": 6, "data": "cifar10", "compile": False, "channels_last": False, **values}
        training = make_training(ResolvedConfig(**given), data, META)
        training.model.train()
        meter = EpochMeter(META)
        for batch in meter.timed(training.train.epoch(1)):
            set_learning_rate(training.optimizer, training.lr, training.schedule, progress=0)
            losses, outputs = train_step(training, batch.inputs, batch.labels)
            meter.add(losses, correct(outputs, batch.labels))
        assert meter.steps == 2
        assert {t.device for t in training.model.state_dict().values()} == {META}
        assert {p.grad.device for p in training.model.parameters() if p.grad is not None} == {META}

    return steps


@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in IMAGE_MODELS]
)
def test_every_image_model(step: Callable[..., Any], model: str) -> None:
    step(model=model, norm="batchnorm", act="sigmoid")


@pytest.mark.parametrize("norm", ["batchnorm", "augnorm", pytest.param("auggraphnorm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", GRAPH_MODELS)
def test_every_graph_model(model: str, norm: str) -> None:
    edges = torch.tensor([[0, 2, 3], [1, 3, 4]])
    data = make_graph_dataset("TOY", "here", "abcab", edges, [0, 0, 1, 1, 1], [0, 1]).to(META)
    net = MODELS.build(f"{model}:n_layers=3,hidden=8", norm=norm, num_classes=2, in_channels=3).to(META)
    optimizer = torch.optim.Adam(net.parameters())
    batch, labels = data.batch(torch.tensor([0, 1]))
    torch.nn.functional.cross_entropy(net(batch), labels).backward()
    optimizer.step()
    assert {p.grad.device for p in net.parameters() if p.grad is not None} == {META}


def two_convolutions(config: RunConfig, data: Data) -> nn.Module:
    layers = LayerFactory(config.norm, config.act)
    convolutions = layers.conv_norm_act(data.channels, 16, 3, first=True), layers.conv_norm_act(16, 16, 3)
    return nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), layers.classifier(16, data.classes))


@pytest.mark.parametrize("norm", IMAGE_NORMS)
def test_every_norm(step: Callable[..., Any], norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.build.assemble.make_model", two_convolutions)
    step(norm=norm)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["augnorm", "diffphi"])
def test_norms_that_search_in_a_whole_network(step: Callable[..., Any], norm: str) -> None:
    step(model="resnet20", norm=norm)


@pytest.mark.parametrize("objective", OBJECTIVES.choices())
def test_every_objective(step: Callable[..., Any], objective: str) -> None:
    step(model="mlp", objective=objective)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_every_optimizer(step: Callable[..., Any], optimizer: str) -> None:
    step(model="mlp", optimizer=optimizer)


def test_only_one_package_names_accelerators() -> None:
    """`device/`; other files may ask whether a device is the CPU or meta."""
    for path in FILES:
        if not place(path).startswith("device/") and ("torch" in text(path) or "device" in text(path)):
            found = list(names_of_accelerators(parsed(path)))
            assert not found, f"{place(path)}: {found}"


def names_of_accelerators(tree: ast.Module) -> Iterator[str]:
    """The expressions that name a kind of device, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
            if node.attr in ("cuda", "mps", "xpu", "accelerator"):
                yield f"line {node.lineno}: torch.{node.attr}"
        elif isinstance(node, ast.Compare) and is_kind_of_device(node.left) and not allowed(node.comparators):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def is_kind_of_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "type" and ast.unparse(node.value).endswith("device")


def allowed(kinds: list[ast.expr]) -> bool:
    return {ast.unparse(kind) for kind in kinds} <= {"'cpu'", "'meta'", "('cpu', 'meta')"}
