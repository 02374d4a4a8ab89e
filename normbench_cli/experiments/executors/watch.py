"""How far the cells are, as the database shows it: the same for workers of every kind."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.tasks import Running, running

SECONDS = 1.0  # between two looks, at least


class Watch:
    """Looks at the runs that are running, now and then.  What cannot be read now is seen later."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0
        self._seen: dict[str, Running] = {}

    def look(self, fingerprints: Collection[str]) -> dict[str, Running]:
        """Fingerprint -> its run, where something has changed since the last look."""
        if time.monotonic() < self._next:
            return {}
        found: dict[str, Running] = {}
        with suppress(NormbenchError):
            found = running(self._store, fingerprints)
        self._next = time.monotonic() + SECONDS
        new = {name: run for name, run in found.items() if self._seen.get(name) != run}
        self._seen.update(new)
        return new
