"""Trainings of a tiny network by one process and by several, as the engine sees them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.config import make_config
from normbench_cli.engine.data_parallel import DataParallel
from normbench_cli.engine.events import Record
from normbench_cli.engine.loop import fit
from normbench_cli.norms import NORMS
from normbench_cli.norms.protocols import sync_norms

STEPS = 20
TINY = {"model": "mlp:size=8,width=16", "data": "digits:size=8", "lr": 0.01, "iterations": STEPS, "score_test": "end"}


def config_of(**settings: Any) -> ResolvedConfig:
    return build.resolve(make_config(TINY | settings), trial=None)


def fit_alone(settings: dict[str, Any]) -> dict[str, Any]:
    return fitted(config_of(**settings), None)


def fit_part(rank: int, size: int, settings: dict[str, Any]) -> dict[str, Any]:
    """In one of the processes."""
    config = config_of(nproc=size, **settings)
    return fitted(config, DataParallel(rank, size, config.sync_norm, config.seed))


def fitted(config: ResolvedConfig, parallel: DataParallel | None) -> dict[str, Any]:
    training = build.make_training(config, parallel=parallel)
    records = [event for event in fit(training) if isinstance(event, Record)]
    return {
        "state": training.model.state_dict(),
        "losses": [loss for record in records for loss in record.series.get("train/loss", [])],
        "metrics": {name: value for record in records for name, value in record.metrics.items()},
    }


def network(spec: str) -> nn.Module:
    """Two convolutions with norms, in float64."""
    torch.manual_seed(2)
    norms = [NORMS.build(spec, num_features=4) for _ in range(2)]
    layers = [nn.Conv2d(2, 4, 3), norms[0], nn.Tanh(), nn.Conv2d(4, 4, 3), norms[1], nn.Tanh(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(16, 3)).double()


def descend(model: nn.Module, raw: nn.Module, taken: slice, processes: int) -> dict[str, Tensor]:
    """Steps of SGD on the mean loss of whole batches of 12, of which these rows are this process's.

    They are small: for a low phi the gradient multiplies the last digit of the median by a large number, which every
    step multiplies again.
    """
    optimizer = torch.optim.SGD(raw.parameters(), 0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(4)
    for _ in range(STEPS):
        inputs = torch.randn(12, 2, 6, 6, generator=generator, dtype=torch.float64)
        labels = torch.randint(0, 3, (12,), generator=generator)
        optimizer.zero_grad()
        losses = nn.functional.cross_entropy(model(inputs[taken]), labels[taken], reduction="sum")
        (losses * (processes / 12)).backward()
        optimizer.step()
    return deepcopy(raw.state_dict())


def descend_in_part(rank: int, size: int, specs: list[str], ends: list[int]) -> list[dict[str, Tensor]]:
    """In one of the processes, for networks with each of the norms."""
    states = []
    for spec in specs:
        model = network(spec)
        sync_norms(model)
        parallel = DistributedDataParallel(model)
        states.append(descend(parallel, model, slice(ends[rank], ends[rank + 1]), size))
    return states
