"""A store, and a short way to enter runs in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.store import Store


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture
def enter(store: Store) -> Callable[..., str]:
    """Enter a run that is finished (or ``state``), with settings and metrics: its id."""

    def run(
        state: str = "finished", metrics: dict[str, float] | None = None, kind: str = "train", **config: Any
    ) -> str:
        fingerprint = ",".join(f"{key}={value}" for key, value in sorted(config.items()))
        run_id = store.begin(config, fingerprint, {"host": "here"}, kind=kind, argv=["train"])
        store.record(run_id, metrics or {})
        if state != "running":
            store.end(run_id, state)
        return run_id

    return run
