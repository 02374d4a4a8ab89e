"""What looking into a model at every step costs: the same training with and without probes, step by step in turns.

Run alone, on a machine that does nothing else:  pytest -m benchmark tests/benchmarks/test_probe_cost.py -s
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.engine.step import set_learning_rate, train_step


def stepping(probes: int, norm: str) -> Iterator[float]:
    """A step at every `next`, which gives its seconds."""
    run = build.make_training(
        build.resolve(make_config({"data": "digits", "norm": norm, "probes": probes, "epochs": 20}))
    )
    run.model.train()
    for epoch in range(1, 20):
        for batch in run.train.epoch(epoch):
            began = time.perf_counter()
            set_learning_rate(run.optimizer, run.lr, run.schedule, run.step / run.steps)
            train_step(run, batch.inputs, batch.labels)
            run.step += 1
            for probe in run.probes:
                probe.after_step(run.step)
            yield time.perf_counter() - began
        for probe in run.probes:
            probe.read()


@pytest.mark.benchmark
@pytest.mark.parametrize("norm", ["batchnorm", "weightnorm", "diffphi"])
def test_probes_at_every_step_cost_less_than_a_twentieth(norm: Any) -> None:
    turns = list(zip(stepping(0, norm), stepping(1, norm), strict=True))[10:]
    without, watched = (statistics.median(column) for column in zip(*turns, strict=True))
    print(f"{norm}: {without * 1e3:.2f} ms without, {watched * 1e3:.2f} ms with probes, ratio {watched / without:.3f}")
    assert watched < 1.05 * without
