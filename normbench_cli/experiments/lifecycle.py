"""A run's life in the database, the same for training and profiling: it begins, shows signs of life, and ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from normbench_cli.config import RunConfig
from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store

SECONDS_BETWEEN_BEATS = 15
LONGEST_MESSAGE = 10_000  # characters


def begin_run(
    config: RunConfig,
    store: Store,
    environment: dict[str, Any],
    *,
    fingerprint: str,
    details: Mapping[str, Any],
    kind: str = "train",
) -> str:
    """Record a new run as running, and give its id."""
    argv = sys.argv[1:]
    return store.begin(config.to_dict(), fingerprint, environment, kind=kind, argv=argv, details=details)


class Heartbeat:
    """Signs of life of this process's runs, one every 15 seconds; other processes take a silent run for dead."""

    def __init__(self, store: Store, *run_ids: str) -> None:
        self._store = store
        self._run_ids = run_ids
        self._last = time.monotonic()

    def beat(self) -> None:
        """Give a sign of life if one is due.  Call it often."""
        if time.monotonic() - self._last > SECONDS_BETWEEN_BEATS:
            for run_id in self._run_ids:
                self._store.heartbeat(run_id)
            self.recorded()

    def recorded(self) -> None:
        """Something was just recorded, which is a sign of life in itself."""
        self._last = time.monotonic()


@contextmanager
def recording_outcome(store: Store, *run_ids: str) -> Iterator[None]:
    """On an error or an interrupt, record how the runs ended and raise again."""
    try:
        with store.hold_open():
            yield
    except KeyboardInterrupt:
        end_all(store, run_ids, "interrupted", "stopped by hand")
        raise
    except BaseException as error:
        end_all(store, run_ids, "failed", f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE])
        raise


def end_all(store: Store, run_ids: Iterable[str], status: str, message: str) -> None:
    """Record how runs ended.  Where the database cannot be written, the error that ended the runs matters more: they
    count as interrupted once their process is gone."""
    with suppress(DatabaseError):
        for run_id in run_ids:
            store.end(run_id, status, message)
