"""Recorded runs for the commands, without training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def enter(home: Path) -> Callable[..., str]:
    """Record a run with these accuracies, one an epoch, without training; returns its id."""
    from normbench_cli.store import Store

    def run(*accuracies: float, status: str = "finished", note: str = "", **config: Any) -> str:
        settings = {"epochs": len(accuracies), "seed": 0, "note": note, **config}
        with Store.open() as store:
            run_id = store.begin(settings, str(sorted(settings.items())), {"host": "here"}, argv=["train", "--x"])
            for epoch, accuracy in enumerate(accuracies, start=1):
                store.record(run_id, {"test/accuracy": accuracy, "train/loss": 1 / epoch}, epoch=epoch, step=epoch)
            if status != "running":
                store.end(run_id, status)
        return run_id

    return run
