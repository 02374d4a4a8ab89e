"""The progress of the cells, read from the database: the same for every kind of worker."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.tasks import Running, running

SECONDS = 1.0  # minimum between two queries


class Watch:
    """Queries the runs in progress at most once a second.  Failed queries are ignored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0
        self._seen: dict[str, Running] = {}

    def changes(self, fingerprints: Collection[str]) -> dict[str, Running]:
        """Fingerprint -> its run, for runs that have changed since the last query."""
        if time.monotonic() < self._next:
            return {}
        found: dict[str, Running] = {}
        with suppress(NormbenchError):
            found = running(self._store, fingerprints)
        self._next = time.monotonic() + SECONDS
        new = {name: run for name, run in found.items() if self._seen.get(name) != run}
        self._seen.update(new)
        return new
