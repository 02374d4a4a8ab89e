"""An open database: its transactions, and what keeps them fast and safe.  Independent of runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from normbench_cli.interrupts import held_back
from normbench_cli.store.connection import Synchronous, make_engine, translate_errors
from normbench_cli.store.location import Location
from normbench_cli.store.sqlite_file import hold_open, sync_log


class Database:
    """A database at the newest schema, which `Store.open` ensures."""

    def __init__(self, location: Location, synchronous: Synchronous | None = None) -> None:
        """synchronous: when SQLite waits for the disk, by default `connection.SYNCHRONOUS`."""
        self.location = location
        self.left_out: dict[str, str] = {}  # damaged rows that queries found -> what is wrong with each
        self._query = location.read_query  # fixed now, so that a file that disappears later is not recreated
        self._synchronous = synchronous
        self._engine = self._new_engine(location)
        self._engines_by_timeout: dict[float, Engine] = {}  # lock timeout in seconds -> an engine with a shorter one

    def _new_engine(self, location: Location) -> Engine:
        return make_engine(location, self._query, self._synchronous)

    def close(self) -> None:
        for engine in (self._engine, *self._engines_by_timeout.values()):
            engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def damage(self) -> list[str]:
        """A sentence for each row that was left out because it is damaged."""
        return [f"{name} is left out: {problem}" for name, problem in self.left_out.items()]

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that sees a snapshot of the database, whatever others write meanwhile."""
        with translate_errors(self.location), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self, timeout: float | None = None, *, alone: bool = False) -> Iterator[Session]:
        """A transaction that may write.  In a file it holds the only write lock from its first statement on; on a
        server, others may write other rows meanwhile, unless `alone`.

        timeout: seconds to wait for a lock, if fewer than usual.
        An interrupt is deferred until its end: an aborted statement would keep the lock as long as its traceback lives.
        """
        engine = self._engine_with_timeout(timeout).execution_options(writes="alone" if alone else "beside others")
        with (
            held_back(),
            translate_errors(self.location),
            Session(engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    def _engine_with_timeout(self, timeout: float | None) -> Engine:
        if timeout is None or timeout >= self.location.timeout:
            return self._engine
        if timeout not in self._engines_by_timeout:
            self._engines_by_timeout[timeout] = self._new_engine(replace(self.location, timeout=timeout))
        return self._engines_by_timeout[timeout]

    @contextmanager
    def hold_open(self) -> Iterator[None]:
        """Keep a connection open during a run, so that commits do not checkpoint the write-ahead log."""
        with ExitStack() as stack:
            if self.location.path is not None:
                with translate_errors(self.location):
                    stack.enter_context(hold_open(self.location.path))
            yield

    def sync(self) -> bool:
        """Wait until everything recorded so far would survive a power failure; False if that fails."""
        if self.location.path is not None:
            with suppress(OSError):
                sync_log(self.location.path)
                return True
            return False
        return True
