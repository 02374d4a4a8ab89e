"""Sharing a grid with other processes: which of its cells are left, and waiting for those that others execute.

Any number of launchers, on any machines, may run the same grid on the same database.  Each takes cells in order until
it meets one that another has reserved or finished, then continues at a random one, so that they rarely collide again.
`Shared` yields the cells to a launcher that executes them itself.  A launcher with workers submits all cells to them,
puts back those that they could not reserve (`leave`), and polls for how these ended (`ended`).
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar

from normbench_cli.experiments.events import Callback, Notice
from normbench_cli.store import Store
from normbench_cli.store.reading import AnyRow
from normbench_cli.store.reservations import IN_LIMIT, ensure_free, reservations
from normbench_cli.store.status import WITH_RESULT

SECONDS_BETWEEN_POLLS = 3.0  # of the cells that others execute


class Shareable(Protocol):
    """A cell or job: its fingerprint, and its recorded run when the grid was planned."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def status(self) -> str: ...


Item = TypeVar("Item", bound=Shareable)


def known_run(item: Shareable) -> str:
    """The run that may be repeated: one that had ended for good when the grid was planned."""
    return item.run_id if item.status in (*WITH_RESULT, "failed") else ""


def check_free(item: Shareable, store: Store) -> None:
    """Raise `Taken` if another process has the item, before its data are loaded."""
    with store.reading() as session:
        ensure_free(session, item.fingerprint, known_run(item))


class Shared(Generic[Item]):
    """Yields each item once: with None if it is free, otherwise with its run by another process."""

    def __init__(self, items: Iterable[Item], store: Store, on_event: Callback) -> None:
        self._left = deque(items)
        self._elsewhere: list[Item] = []  # executed by other processes
        self._done: dict[str, AnyRow] = {}  # ended runs of others, by fingerprint
        self._names: dict[str, str] = {}  # planned fingerprint -> recorded one, where they differ
        self._store, self._on_event = store, on_event
        self._next_poll = 0.0
        self._said = False

    def __iter__(self) -> Iterator[tuple[Item, AnyRow | None]]:
        while self._left or self._elsewhere:
            if not self._left:
                self._wait()
            item = self._left.popleft()
            other = self._done.get(item.fingerprint)
            if other is None and self._reservations([item]):
                self._left.appendleft(item)
                self._left.rotate(random.randrange(len(self._left)))
                self._look(IN_LIMIT)
            else:
                yield item, other

    def put_back(self, item: Item, fingerprint: str = "") -> None:
        """Put back an item that another process reserved first.  fingerprint: of the cell, which changes when its data
        are downloaded."""
        self._rename(item, fingerprint)
        self._left.appendleft(item)

    def leave(self, item: Item, fingerprint: str = "") -> None:
        """Leave an item to the process that reserved it first."""
        self._rename(item, fingerprint)
        self._elsewhere.append(item)

    def ended(self) -> Sequence[tuple[Item, AnyRow | None]]:
        """The items that others no longer execute: with the ended run, or None if the item is free.  Queries the
        database at most every few seconds."""
        if not self._elsewhere or time.monotonic() < self._next_poll:
            return []
        self._store.sweep()
        self._look()
        self._next_poll = time.monotonic() + SECONDS_BETWEEN_POLLS
        found = [(item, self._done.get(item.fingerprint)) for item in self._left]
        self._left.clear()
        return found

    def say_waiting(self) -> None:
        """Notify once that this process waits for others."""
        if not self._said:
            cells = f"{len(self._elsewhere)} {'cell' if len(self._elsewhere) == 1 else 'cells'}"
            self._on_event(Notice(f"waiting for {cells} that other processes execute"))
            self._said = True

    def _rename(self, item: Item, fingerprint: str) -> None:
        if fingerprint:
            self._names[item.fingerprint] = fingerprint

    def _look(self, most: int | None = None) -> None:
        """Sort the items left (or the first `most` of them) and those elsewhere into free, running and ended ones.
        Checking all cells of a large grid for each one taken would be quadratic."""
        some = list(islice(self._left, most))
        items = [*some, *self._elsewhere]
        found = self._reservations(item for item in items if item.fingerprint not in self._done)
        self._done |= {fingerprint: run for fingerprint, run in found.items() if run.status != "running"}
        running = found.keys() - self._done
        self._elsewhere = [item for item in items if item.fingerprint in running]
        for _ in some:
            self._left.popleft()
        self._left.extendleft(item for item in reversed(items) if item.fingerprint not in running)

    def _reservations(self, items: Iterable[Item]) -> dict[str, AnyRow]:
        named = {self._names.get(item.fingerprint, item.fingerprint): item for item in items}
        with self._store.reading() as session:
            found = reservations(session, {name: known_run(item) for name, item in named.items()})
        return {named[name].fingerprint: run for name, run in found.items()}

    def _wait(self) -> None:
        """Wait until a run of another process has ended, or its process is gone."""
        self.say_waiting()
        while not self._left:
            self._look()
            if not self._left:
                time.sleep(SECONDS_BETWEEN_POLLS)
                self._store.sweep()
