"""Scoring: right numbers, from one reading for all disturbances, and the model left as it was."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.engine.evaluate import score, score_each


@pytest.fixture
def run() -> SimpleNamespace:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.9), nn.Linear(4, 2)).train()
    return SimpleNamespace(model=model, device=torch.device("cpu"), group_names=(), call=model)


@pytest.fixture
def split() -> SimpleNamespace:
    batches = [SimpleNamespace(inputs=torch.randn(n, 3), labels=torch.arange(n) % 2, groups=None) for n in (5, 5, 2)]
    readings = []
    return SimpleNamespace(epoch=lambda: readings.append(1) or iter(batches), batches=batches, readings=readings)


def test_one_reading_serves_all_disturbances(run: SimpleNamespace, split: SimpleNamespace) -> None:
    disturbances = [None, lambda model, x, y: -x, lambda model, x, y: x + y[:, None]]
    together = score_each(run, split, disturbances)
    assert len(split.readings) == 1
    assert together == [score(run, split, disturb) for disturb in disturbances]
    assert run.model.training


def test_means_are_over_samples(run: SimpleNamespace, split: SimpleNamespace) -> None:
    found, labels = score(run, split), torch.cat([batch.labels for batch in split.batches])
    outputs = run.model.eval()(torch.cat([batch.inputs for batch in split.batches]))
    assert found["loss"] == pytest.approx(F.cross_entropy(outputs, labels).item(), rel=1e-6)
    assert found["accuracy"] == pytest.approx((outputs.argmax(1) == labels).double().mean().item())
