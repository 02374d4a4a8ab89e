"""Recording a run that this process executes, also while its database cannot be written.

A write is committed; or appended to a spool file; or kept in memory where no file can be written either.  What waits is
tried again at later writes, at signs of life and at the end.
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
from normbench_cli.store._spool.spool import Places, name_of
from normbench_cli.store._spool.spool_file import Owner, SpoolFile
from normbench_cli.store._spool.writes import Write, summary
from normbench_cli.store.database import Database
from normbench_cli.store.errors import DamagedValue, RefusedRow
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.processes import Process
from normbench_cli.store.statements import update_heartbeat

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds that a write waits for another program's lock, before it goes to the spool
LESS_PATIENCE = 0.1  # while the database could not be written before
SECONDS_BETWEEN_TRIES = 2.0  # so that waiting costs a training less than a twentieth of its time


class Recorder:
    """Writes about one run.  `metrics` has the last value of each, by full name, as `Store.latest_metrics` does."""

    def __init__(
        self, database: Database, run_id: str, fingerprint: str, process: Process, metrics: Mapping[str, float]
    ) -> None:
        self.run_id, self.fingerprint, self.metrics = run_id, fingerprint, dict(metrics)
        self.ended = False
        self._database = database
        self._owner = Owner(name_of(database.location), run_id, **process)
        self._places = Places(database.location)
        self._waiting: list[Write] = []  # what is not in the database
        self._saved = 0  # so many of them are in the spool file
        self._files: list[SpoolFile] = []  # the last one is written; those before could not be, any more
        self._problem = ""  # why the database could not be written at the last attempt
        self._said = ""
        self._next_try = self._next_file = 0.0

    def write(self, write: Write) -> None:
        """Commit, or keep.  What the database refuses is an error: a record of a run that was removed."""
        with held_back():
            last = bool(write.status)
            if not self._commit([*self._waiting, write], PATIENCE if last else None):
                self._waiting.append(write)
                self._save(last)
            for row in write.metrics:
                name = str(MetricName(row["split"], row["name"], row["condition"]))
                self.metrics.pop(name, None)  # the order is that of recording
                self.metrics[name] = row["value"]
            self.ended = self.ended or bool(write.status)

    def beat(self) -> None:
        """A sign of life, with which what waits is tried again.  Nothing is lost if it fails."""
        with held_back():
            if not self._commit(self._waiting) and self._waiting:
                self._save()

    def flush(self) -> None:
        """The last attempt to write what waits."""
        with held_back():
            if self._waiting and not self._commit(self._waiting, LESS_PATIENCE if self.durable else PATIENCE):
                self._save(last=True)

    @property
    def waits(self) -> bool:
        """Whether the database lacks something."""
        return bool(self._waiting)

    @property
    def durable(self) -> bool:
        """Whether all that was written would outlive this process."""
        return self._saved == len(self._waiting)

    @property
    def lost(self) -> str:
        """What only this process knows, in a sentence; empty if that is nothing."""
        unsaved = self._waiting[self._saved :]
        return f"{summary(unsaved)} of run {self.run_id} could be written nowhere: {self._problem}" if unsaved else ""

    def _commit(self, writes: Sequence[Write], patience: float | None = None) -> bool:
        """Write to the database; false if that fails, or without a patience of its own, failed a moment ago."""
        again = bool(self._problem)
        if patience is None:
            if again and time.monotonic() < self._next_try:
                return False
            patience = LESS_PATIENCE if again else PATIENCE
        try:
            with self._database.writing(patience) as session:
                for write in writes:  # what ended in an error may be in the database all the same, or be there by now
                    (write.unless_recorded(session) if again else write).execute(session)
                if not writes:
                    update_heartbeat(session, self.run_id)
        except RefusedRow:
            self._forget()
            raise
        except (DatabaseError, OSError) as error:
            if isinstance(error, DamagedValue) and not self._waiting:
                raise
            self._problem = error.what if isinstance(error, DatabaseError) else f"{self._name}: {error.strerror}"
            self._next_try = time.monotonic() + SECONDS_BETWEEN_TRIES
            return False
        self._problem = ""
        if self._waiting:
            self._say(f"{self._name} can be written again; run {self.run_id} has now {summary(self._waiting)}")
            self._forget()
        return True

    def _forget(self) -> None:
        """What was waiting is recorded."""
        for file in self._files:
            remove(file.path)
        self._waiting, self._saved, self._files, self._said = [], 0, [], ""

    def _save(self, last: bool = False) -> None:
        """Bring what waits into the spool file, or into a new one where that cannot be written any more."""
        if not self._append() and (last or time.monotonic() >= self._next_file):
            self._next_file = time.monotonic() + SECONDS_BETWEEN_TRIES
            for folder in self._places.usable():
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
