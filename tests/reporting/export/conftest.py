"""A recorded run with curves, raw series and values that files find difficult."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from normbench_cli.store import Store

ODD = "test/accuracy@bim:eps=0.03"


@pytest.fixture
def run_id(home: Path) -> str:
    """Three epochs of two steps each; the last loss is not a number."""
    settings = {"norm": "popnorm:kappa=4", "act": "relu", "seed": 3, "lr": 0.1, "compile": False, "widths": [1, 2]}
    with Store.open() as store:
        found = store.begin(settings, "f", {"versions": {"torch": "2.13"}}, argv=["train", "--seed", "3"])
        for epoch in (1, 2, 3):
            loss = math.nan if epoch == 3 else 1 / epoch
            losses = [float(10 * epoch), float(10 * epoch + 1)]
            store.record(found, {"test/accuracy": epoch / 4, "train/loss": loss}, epoch=epoch, step=2 * epoch,
                         series={"train/loss": losses})  # fmt: skip
        store.record(found, {ODD: 0.25})
        store.end(found, "diverged")
    return found
