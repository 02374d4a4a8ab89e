"""Sharing a grid with other processes: which of its cells are left, and waiting for those that others execute.

Any number of launchers, on any machines, may be given the same grid and database.  Each takes cells in the listed order
until it meets one that another has or has made; then it continues at a random one, so that they seldom meet again.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from normbench_cli.experiments.events import Callback, Notice
from normbench_cli.store import Store
from normbench_cli.store.reading import AnyRow
from normbench_cli.store.reservations import reservations
from normbench_cli.store.status import WITH_RESULT

SECONDS_BETWEEN_LOOKS = 3.0  # at what others execute


class Shareable(Protocol):
    """A cell or job: its fingerprint, and the run that was recorded of it when the grid was planned."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def status(self) -> str: ...


Item = TypeVar("Item", bound=Shareable)


def known_run(item: Shareable) -> str:
    """The run that may be made again: one that had ended for good when the grid was planned."""
    return item.run_id if item.status in (*WITH_RESULT, "failed") else ""


class Shared(Generic[Item]):
    """Yields each item once: with None if it is free, otherwise with the run that another process has made of it."""

    def __init__(self, items: Iterable[Item], store: Store, on_event: Callback) -> None:
        self._left = deque(items)
        self._elsewhere: list[Item] = []  # executed by other processes
        self._done: dict[str, AnyRow] = {}  # what others have made, by fingerprint
        self._names: dict[str, str] = {}  # planned fingerprint -> as it is recorded, where that differs
        self._store, self._on_event = store, on_event
        self._said = False

    def __iter__(self) -> Iterator[tuple[Item, AnyRow | None]]:
        while self._left or self._elsewhere:
            if not self._left:
                self._wait()
            item = self._left.popleft()
            other = self._done.get(item.fingerprint)
            if other is None and self._reservations([item]):
                self._left.appendleft(item)
                self._look()
                self._left.rotate(random.randrange(len(self._left) + 1))
            else:
                yield item, other

    def put_back(self, item: Item, fingerprint: str = "") -> None:
        """Another process was faster.  fingerprint: of the cell, which changes when its data are downloaded."""
        if fingerprint:
            self._names[item.fingerprint] = fingerprint
        self._left.appendleft(item)

    def _look(self) -> None:
        """Sort what is left and what others execute."""
        items = [*self._left, *self._elsewhere]
        found = self._reservations(item for item in items if item.fingerprint not in self._done)
        self._done |= {fingerprint: run for fingerprint, run in found.items() if run.status != "running"}
        running = found.keys() - self._done
        self._left = deque(item for item in items if item.fingerprint not in running)
        self._elsewhere = [item for item in items if item.fingerprint in running]

    def _reservations(self, items: Iterable[Item]) -> dict[str, AnyRow]:
        named = {self._names.get(item.fingerprint, item.fingerprint): item for item in items}
        with self._store.reading() as session:
            found = reservations(session, {name: known_run(item) for name, item in named.items()})
        return {named[name].fingerprint: run for name, run in found.items()}

    def _wait(self) -> None:
        """Until one of the others has ended, or its process is gone."""
        if not self._said:
            cells = f"{len(self._elsewhere)} {'cell' if len(self._elsewhere) == 1 else 'cells'}"
            self._on_event(Notice(f"waiting for {cells} that other processes execute"))
            self._said = True
        while not self._left:
            self._look()
            if not self._left:
                time.sleep(SECONDS_BETWEEN_LOOKS)
                self._store.sweep()
