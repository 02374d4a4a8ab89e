"""How fast training is on real CIFAR-10 against the plain way of writing it, and that it learns the same.

The plain way: float32, contiguous, eager; torchvision's transforms image by image in a DataLoader with two workers.
Ours: in the precision, the memory format and with or without the compiler as they are chosen by themselves (of the
latter, the faster in a trial), fed from the device.  An epoch of ResNet-20 with BatchNorm each, in turns of thirty
steps.  Run alone, on a machine that does nothing else:

    pytest -m benchmark tests/benchmarks/test_training_speed.py -s
"""

from __future__ import annotations

import copy
import itertools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.step import set_learning_rate, train_step
from normbench_cli.engine.training import Training
from normbench_cli.paths import data_root

TURN = 30  # steps
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def plain_batches(seed: int) -> Any:
    torchvision = import_torchvision()
    t = torchvision.transforms
    change = t.Compose([t.RandomCrop(32, padding=4), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)])
    data = torchvision.datasets.CIFAR10(str(data_root()), train=True, transform=change)
    generator = torch.Generator().manual_seed(seed)
    return torch.utils.data.DataLoader(data, 128, shuffle=True, num_workers=2, generator=generator)


def plain_steps(model: nn.Module, seed: int) -> Iterator[float]:
    """A training step at every `next`, which gives the loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    batches = plain_batches(seed)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, len(batches))
    for images, labels in batches:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss.item()


def our_steps(run: Training) -> Iterator[Tensor]:
    for batch in run.train.epoch(1):
        set_learning_rate(run.optimizer, run.lr, run.schedule, run.step / run.steps)
        losses, _ = train_step(run, batch.inputs, batch.labels)
        run.step += 1
        yield losses.mean()


def time_interleaved(steps: dict[str, Iterator[Any]]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Samples a second and losses of each, turn by turn; the first turn warms up and is not timed."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    losses: dict[str, list[float]] = {name: [] for name in steps}
    while True:
        for name, stepping in steps.items():
            began = time.perf_counter()
            turn = list(itertools.islice(stepping, TURN))
            if len(turn) < TURN:
                return {name: 128 * TURN / statistics.median(of[1:]) for name, of in seconds.items()}, losses
            seconds[name].append(time.perf_counter() - began)
            losses[name] += map(float, turn)


@pytest.mark.benchmark
def test_an_epoch_of_cifar10_is_twice_as_fast_as_the_plain_way_and_learns_the_same() -> None:
    if not (data_root() / "cifar-10-batches-py").exists():
        pytest.skip("NORMBENCH_DATA does not hold CIFAR-10")
    last: dict[str, list[float]] = {}
    accuracies: dict[str, list[float]] = {}
    for seed in (0, 1):
        values = {"data": "cifar10", "epochs": 1, "schedule": "cosine", "seed": seed}
        run = build.make_training(build.resolve(make_config(values)))
        plain = copy.deepcopy(run.model).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        pace, losses = time_interleaved({"plain": plain_steps(plain.train(), seed), "ours": our_steps(run)})
        ratio = pace["ours"] / pace["plain"]
        print(f"\nsamples/s: {pace}, ratio {ratio:.2f}, amp {run.amp}, compiled {run.compiled_for is not None}")
        assert ratio >= 2
        for name, of in losses.items():
            last.setdefault(name, []).append(statistics.fmean(of[-90:]))
        accuracies.setdefault("ours", []).append(score(run, run.test)["accuracy"])
        run.model.load_state_dict(plain.state_dict())
        accuracies.setdefault("plain", []).append(score(run, run.test)["accuracy"])
    print(f"loss of the last 90 steps: {last}; test accuracy: {accuracies}")
    assert abs(statistics.fmean(last["ours"]) - statistics.fmean(last["plain"])) < 0.1
    assert abs(statistics.fmean(accuracies["ours"]) - statistics.fmean(accuracies["plain"])) < 0.06
