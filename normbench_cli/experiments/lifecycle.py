"""A run's lifecycle in the database, the same for training and profiling: it begins, sends heartbeats, and ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from normbench_cli.config import RunConfig
from normbench_cli.device import naming_what_is_not_deterministic
from normbench_cli.errors import DatabaseError
from normbench_cli.experiments.result import RunResult
from normbench_cli.interrupts import Interrupted, held_back, ignored
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
    instead_of: str | None = None,
) -> str:
    """Record a new run as running, and return its id.  instead_of: reserve its cell, see `Store.begin`."""
    settings, argv = config.to_dict(), sys.argv[1:]
    return store.begin(settings, fingerprint, environment, kind=kind, argv=argv, details=details, instead_of=instead_of)


class Heartbeat:
    """Heartbeats of this process's runs, one every 15 seconds; other processes consider a silent run dead."""

    def __init__(self, store: Store, *run_ids: str) -> None:
        self._store = store
        self._run_ids = run_ids
        self._last = time.monotonic()

    def beat(self) -> None:
        """Send a heartbeat if one is due.  Call it often."""
        if time.monotonic() - self._last > SECONDS_BETWEEN_BEATS:
            for run_id in self._run_ids:
                self._store.heartbeat(run_id)
            self.recorded()

    def recorded(self) -> None:
        """Note that something was just recorded, which counts as a heartbeat."""
        self._last = time.monotonic()


class Stopped(Exception):
    """Raised by a callback to end the current run with this message; it can be resumed.

    run_id: of that run, known once it has ended.
    """

    run_id = ""


class StartedRuns:
    """The runs that this process has begun."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []

    def begin(self, record: Callable[[], str]) -> str:
        """Record that a run begins, and store its id; interrupts are deferred until both are done."""
        with held_back():
            run_id = record()
            self.run_ids.append(run_id)
        return run_id


@contextmanager
def recording_outcome(store: Store, advice: Callable[[str], str]) -> Iterator[StartedRuns]:
    """Record how the runs that begin in this block end on an error or an interrupt, which is raised again.

    advice: maps the id of an interrupted run to what the user can do about it.
    """
    begun = StartedRuns()
    try:
        with store.hold_open(), naming_what_is_not_deterministic():
            yield begun
    except KeyboardInterrupt as interrupt:
        with ignored():
            stopped = end_interrupted(store, begun)
        lines = [line for run_id in stopped for line in (advice(run_id), store.lost(run_id)) if line]
        raise Interrupted("; ".join(dict.fromkeys(["interrupted", *lines]))) from interrupt
    except Stopped as stopped:
        stopped.run_id = stopped.run_id or (end_interrupted(store, begun, str(stopped)) or [""])[0]
        raise
    except BaseException as error:
        with held_back():  # when a process is lost, torchrun interrupts the others
            end_failed(store, begun.run_ids, f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE])
        raise


def end_failed(store: Store, run_ids: Iterable[str], message: str) -> None:
    """Record that runs failed.  A database error is ignored, because the error that ended the runs matters more: they
    count as interrupted once their process is gone."""
    with suppress(DatabaseError):
        for run_id in run_ids:
            store.end(run_id, "failed", message)


def end_interrupted(store: Store, begun: StartedRuns, message: str = "stopped by hand") -> list[str]:
    """Mark the runs that are still running as interrupted, and return their ids."""
    running = [run_id for run_id in begun.run_ids if run_id in store.recorders and not store.recorders[run_id].ended]
    for run_id in running:
        with suppress(DatabaseError):
            store.end(run_id, "interrupted", message)
    return running


def with_loss(result: RunResult, store: Store) -> RunResult:
    """Flush the store, and return the result with a message about data that still could not be written."""
    store.flush()
    return replace(result, lost=store.lost(result.id))
