"""A tiny set of graphs, a network for it, and a cross-validation of three folds, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import nn

from normbench_cli.datasets._graphs.dataset import make_graph_dataset
from normbench_cli.datasets._graphs.loader import GraphLoader
from normbench_cli.engine.crossval import Curves, FoldPlan, cross_validate
from normbench_cli.engine.crossval.process_tuning import threads
from normbench_cli.engine.events import Record
from normbench_cli.models import MODELS
from normbench_cli.models.gcn import GCN

PLAN = FoldPlan(folds=3, epochs=4, batch_size=8, seed=9)


def rings_and_paths(count: int = 30, seed: int = 0) -> GraphLoader:
    """Rings are one class, paths the other; tags at random."""
    generator = torch.Generator().manual_seed(seed)
    edges: list[tuple[int, int]] = []
    graph: list[int] = []
    tags: list[int] = []
    for number in range(count):
        size = int(torch.randint(3, 8, (1,), generator=generator))
        first = len(graph)
        edges += [(first + i, first + i + 1) for i in range(size - 1)] + [(first, first + size - 1)] * (number % 2)
        graph += [number] * size
        tags += torch.randint(0, 3, (size,), generator=generator).tolist()
    labels = [number % 2 for number in range(count)]
    return make_graph_dataset("TOY", "here", tags, torch.tensor(edges).T, graph, labels).to(torch.device("cpu"))


def make_model(norm: str = "batchnorm") -> GCN:
    model = MODELS.build("gcn", norm=norm, num_classes=2, in_channels=3, hidden=8)
    assert isinstance(model, GCN)
    return model


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters())


def records_of(
    plan: FoldPlan = PLAN, finished: Mapping[int, Curves] | None = None, norm: str = "batchnorm", workers: int = 1
) -> list[Record]:
    """The records of a cross-validation; with more than one worker, folds are trained side by side."""
    with threads(workers):
        events = cross_validate(partial(make_model, norm), adam, rings_and_paths(), plan, finished)
        return [event for event in events if isinstance(event, Record)]


def series_of(records: list[Record]) -> dict[str, list[float]]:
    return {name: values for record in records for name, values in record.series.items()}
