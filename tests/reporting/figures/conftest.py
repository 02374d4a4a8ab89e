"""A database with everything that a plot can show: epochs, steps, times, attacks, batch sizes, data sets, profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures import make_figures, parse_plot
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.selection import select_runs
from normbench_cli.store import Store

Figures = Callable[..., list[Figure]]


def enter(store: Store, status: str = "finished", *, kind: str = "train", scale: float = 1.0, **config: Any) -> str:
    """A run of two epochs of two steps each."""
    run_id = store.begin(config, repr(config) + kind, {}, kind=kind, argv=[])
    for epoch in (1, 2):
        times = {"step_time_ms": [100.0 * scale, 200.0 * scale], "weights/l2": [1.0, 2.0]}
        metrics = {"test/accuracy": 0.1 * epoch * scale, "step_time_ms": 150.0 * scale, "train/loss": 1 / epoch}
        store.record(run_id, metrics, epoch=epoch, step=2 * epoch, series=times)
    store.record(run_id, {"test/accuracy@bim:eps=0.01": 0.1, "test/accuracy@bim": 0.05})
    store.end(run_id, status)
    return run_id


def record_runs() -> None:
    with Store.open() as opened:
        for norm, scale in (("batchnorm", 1.0), ("popnorm", 2.0)):
            for seed in (0, 1):
                enter(opened, norm=norm, seed=seed, scale=scale + 0.1 * seed, epochs=2)
        enter(opened, "diverged", norm="none", seed=0, epochs=2)


@pytest.fixture
def store(fill_once: Callable[..., None]) -> Iterator[Store]:
    fill_once(record_runs)
    with Store.open() as opened:
        yield opened


@pytest.fixture
def figures(store: Store) -> Figures:
    """`figures("curve:by=step", metrics=["weights/l2"])`, with the settings of a query as keywords."""

    def make(plot: str, **query: Any) -> list[Figure]:
        asked = ReportQuery(**query)
        return make_figures(store, select_runs(store, asked), [parse_plot(plot, asked.metrics)])

    return make
