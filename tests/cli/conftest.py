"""Runs for commands to look at, entered without training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def enter(home: Path) -> Callable[..., str]:
    """Enter a run of the home's database, with its accuracy epoch by epoch: its id."""
    from normbench_cli.store import Store

    def run(*accuracies: float, state: str = "finished", note: str = "", **config: Any) -> str:
        settings = {"epochs": len(accuracies), "seed": 0, "note": note, **config}
        with Store.open() as store:
            run_id = store.begin(settings, str(sorted(settings.items())), {"host": "here"}, argv=["train", "--x"])
            for epoch, accuracy in enumerate(accuracies, start=1):
                store.record(run_id, {"test/accuracy": accuracy, "train/loss": 1 / epoch}, epoch=epoch, step=epoch)
            if state != "running":
                store.end(run_id, state)
        return run_id

    return run
