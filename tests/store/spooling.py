"""A run that writes what any run writes, the spool files that it leaves, and what is said of them."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import pytest

from normbench_cli.store import Store


def run_in(store: Store) -> str:
    return store.begin({"norm": "bn"}, "f", {}, argv=[], details={"data": "digits"})


def write_all(store: Store, run_id: str, *, first: int = 1, last: int = 6, end: bool = True) -> None:
    """What a run writes: epochs, a remark, details, its end."""
    for epoch in range(first, last + 1):
        values = {"train/loss": 1 / epoch, "test/loss@bim": math.nan}
        store.record(run_id, values, epoch=epoch, step=2 * epoch, series={"lr": [0.1, epoch]})
        store.heartbeat(run_id)
    if end:
        store.add_remark(run_id, "a remark")
        store.add_details(run_id, {"norm_layers": [1, 2]})
        store.end(run_id, "finished", "done")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def spools(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*.spool*")]
