"""A whole training step on torch's `meta` device, where reading a value raises and so does a tensor left on the CPU.

What passes here makes no step wait for an accelerator, and leaves no part of a model on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normbench_cli.build import ResolvedConfig, make_training
from normbench_cli.datasets._graphs.dataset import make_graph_dataset
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.engine.epoch_meter import EpochMeter
from normbench_cli.engine.evaluate import correct
from normbench_cli.engine.step import set_learning_rate, train_step
from normbench_cli.registry import MODELS, NORMS, OBJECTIVES

META = torch.device("meta")
PACKAGE = Path(__file__).parents[2] / "normbench_cli"
IMAGE_MODELS = [name for name, entry in MODELS.entries.items() if not entry.facts.graphs]
LARGE = ("densenet121", "resnet101", "efficientnetb0", "mobilenetv2")
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
    net = MODELS.build(model, norm=norm, num_classes=2, in_channels=3).to(META)
    optimizer = torch.optim.Adam(net.parameters())
    batch, labels = data.batch(torch.tensor([0, 1]))
    torch.nn.functional.cross_entropy(net(batch), labels).backward()
    optimizer.step()
    assert {p.grad.device for p in net.parameters() if p.grad is not None} == {META}


@pytest.mark.parametrize(
    "norm", [pytest.param(name, marks=[pytest.mark.slow] if name == "diffphi" else []) for name in IMAGE_NORMS]
)
def test_every_norm(step: Callable[..., Any], norm: str) -> None:
    step(model="resnet20", norm=norm)


@pytest.mark.parametrize("objective", OBJECTIVES.choices())
def test_every_objective(step: Callable[..., Any], objective: str) -> None:
    step(model="mlp", objective=objective)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_every_optimizer(step: Callable[..., Any], optimizer: str) -> None:
    step(model="mlp", optimizer=optimizer)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_one_package_names_accelerators(path: Path) -> None:
    """`device/`; other files may ask whether a device is the CPU or meta."""
    if path.parent == PACKAGE / "device":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
            assert node.attr not in ("cuda", "mps", "xpu", "accelerator"), f"line {node.lineno}"
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("device.type"):
            assert {ast.unparse(of) for of in node.comparators} <= {"'cpu'", "'meta'", "('cpu', 'meta')"}, node.lineno
