"""Recording a run that this process executes, also while its database cannot be written.

A write is committed, or appended to a spool file, or kept in memory if no file can be written either.  Pending writes
are retried at later writes, at heartbeats and at the end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from normbench_cli.errors import DatabaseError
from normbench_cli.interrupts import held_back
from normbench_cli.printable import printable
from normbench_cli.store._spool.replay import remove
from normbench_cli.store._spool.spool import SpoolFolders
from normbench_cli.store._spool.spool_file import Owner, SpoolFile
from normbench_cli.store._spool.writes import Write, summary
from normbench_cli.store.database import Database
from normbench_cli.store.errors import DamagedValue, RefusedRow
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.processes import Process
from normbench_cli.store.statements import update_heartbeat

log = logging.getLogger(__name__)

LOCK_TIMEOUT = 10.0  # seconds that a write waits for another program's lock before it is spooled
RETRY_LOCK_TIMEOUT = 0.1  # after a failed write
SECONDS_BETWEEN_TRIES = 2.0  # so that retries take less than a twentieth of a training's time


class Recorder:
    """Writes the records of one run.  `metrics`: last values by full name, like `Store.latest_metrics`."""

    def __init__(
        self, database: Database, run_id: str, fingerprint: str, process: Process, metrics: Mapping[str, float]
    ) -> None:
        self.run_id, self.fingerprint, self.metrics = run_id, fingerprint, dict(metrics)
        self.ended = False
        self._database = database
        self._owner = Owner(database.location.name, run_id, **process)
        self._folders = SpoolFolders(database.location)
        self._waiting: list[Write] = []  # writes that are not in the database
        self._saved = 0  # how many of them are in the spool file
        self._files: list[SpoolFile] = []  # the last one is in use; the earlier ones became unwritable
        self._problem = ""  # why the last write to the database failed
        self._said = ""
        self._next_try = self._next_file = 0.0

    def write(self, write: Write) -> None:
        """Commit a write, or keep it.  Raises if the database refuses it, as for a run that was removed."""
        with held_back():
            last = bool(write.status)
            if not self._commit([*self._waiting, write], LOCK_TIMEOUT if last else None):
                self._waiting.append(write)
                self._save(last)
            for row in write.metrics:
                name = str(MetricName(row["split"], row["name"], row["condition"]))
                self.metrics.pop(name, None)  # keep recording order
                self.metrics[name] = row["value"]
            self.ended = self.ended or bool(write.status)

    def beat(self) -> None:
        """Record a heartbeat and retry pending writes.  Nothing is lost if this fails."""
        with held_back():
            if not self._commit(self._waiting) and self._waiting:
                self._save()

    def flush(self) -> None:
        """Make a last attempt to write what is pending."""
        with held_back():
            if self._waiting and not self._commit(self._waiting, RETRY_LOCK_TIMEOUT if self.durable else LOCK_TIMEOUT):
                self._save(last=True)

    @property
    def has_pending(self) -> bool:
        """Whether writes are pending."""
        return bool(self._waiting)

    @property
    def durable(self) -> bool:
        """Whether everything written would survive this process."""
        return self._saved == len(self._waiting)

    @property
    def lost(self) -> str:
        """A sentence about the writes that exist only in memory; empty if there are none."""
        unsaved = self._waiting[self._saved :]
        return f"{summary(unsaved)} of run {self.run_id} could be written nowhere: {self._problem}" if unsaved else ""

    def _commit(self, writes: Sequence[Write], timeout: float | None = None) -> bool:
        """Write to the database; False if that fails or, unless `timeout` is given, has just failed."""
        again = bool(self._problem)
        if timeout is None:
            if again and time.monotonic() < self._next_try:
                return False
            timeout = RETRY_LOCK_TIMEOUT if again else LOCK_TIMEOUT
        began = time.monotonic()
        try:
            with self._database.writing(timeout) as session:
                for write in writes:  # a write that raised may be in the database nevertheless, or by now
                    (write.unless_recorded(session) if again else write).execute(session)
                if not writes:
                    update_heartbeat(session, self.run_id)
        except RefusedRow:
            if len(writes) > len(self._waiting) > 0:
                self._commit(self._waiting, timeout)  # without the new write, which may be the refused one
            else:
                self._forget()
            raise
        except (DatabaseError, OSError) as error:
            if isinstance(error, DamagedValue) and not self._waiting:
                raise
            self._problem = error.what if isinstance(error, DatabaseError) else f"{self._name}: {error.strerror}"
            self._next_try = time.monotonic() + SECONDS_BETWEEN_TRIES * self._weight(began if again else None)
            return False
        self._problem = ""
        if self._waiting:
            self._say(f"{self._name} can be written again; run {self.run_id} now has {summary(self._waiting)}")
            self._forget()
        return True

    def _weight(self, began: float | None) -> float:
        """How much longer than usual an attempt took, as when a server is unreachable; delays the next one."""
        return 1.0 if began is None else max(1.0, (time.monotonic() - began) / RETRY_LOCK_TIMEOUT)

    def _forget(self) -> None:
        """Drop the pending writes, which are recorded or refused, and their spool files."""
        for file in self._files:
            remove(file.path)
        self._waiting, self._saved, self._files, self._said = [], 0, [], ""

    def _save(self, last: bool = False) -> None:
        """Save pending writes to the spool file, or to a new one if that has become unwritable."""
        if not self._append() and (last or time.monotonic() >= self._next_file):
            self._next_file = time.monotonic() + SECONDS_BETWEEN_TRIES
            for folder in self._folders.usable():
                with suppress(OSError):
                    self._files.append(SpoolFile(folder, self._owner, self._waiting))
                    self._saved = len(self._waiting)
                    break
        where = f"in {self._files[-1].path}" if self._files and self.durable else "in memory, as no file can be written"
        if where != self._said:
            course = "has ended" if self._waiting[-1].status else "goes on"
            self._say(f"{self._problem}; run {self.run_id} {course}, and its records are kept {where}")
            self._said = where

    def _append(self) -> bool:
        if not self._files:
            return False
        try:
            self._files[-1].append(self._waiting[self._saved :])
        except OSError:
            self._saved = self._saved if self._files[-1].path.exists() else 0
            return False
        self._saved = len(self._waiting)
        return True

    @property
    def _name(self) -> str:
        return f"the database {self._database.location.shown}"

    def _say(self, line: str) -> None:
        log.warning(printable(line))
