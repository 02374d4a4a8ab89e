"""Writing records of running runs: measurements, details, heartbeats, final status."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from normbench_cli.printable import printable
from normbench_cli.store._spool.recorder import Recorder
from normbench_cli.store._spool.replay import replay
from normbench_cli.store._spool.writes import Write, measured
from normbench_cli.store.connection import Synchronous
from normbench_cli.store.database import Database
from normbench_cli.store.location import Location
from normbench_cli.store.processes import Process
from normbench_cli.store.rows import Measurements, RecordLike
from normbench_cli.store.status import STATUSES

log = logging.getLogger(__name__)

TASK = "task"  # key in a run's details: the launcher task that executes it


class Recording(Database):
    """A database to which runs write.  Every write is one short transaction.

    While it cannot be written, the records of this process's own runs are kept in a spool file (`recorder`); writing
    about any other run is an error.
    """

    def __init__(self, location: Location, synchronous: Synchronous | None = None) -> None:
        super().__init__(location, synchronous)
        self.recorders: dict[str, Recorder] = {}  # by the id of the run that this process executes
        self.labels: dict[str, Any] = {}  # added to the details of every run that this process begins or continues

    def close(self) -> None:
        self.flush()
        super().close()

    def follow(
        self, run_id: str, fingerprint: str, process: Process, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Register a run as executed by this process.  metrics: its earlier measurements."""
        self.recorders[run_id] = Recorder(self, run_id, fingerprint, process, metrics or {})

    def record(
        self,
        run_id: str,
        metrics: Mapping[str, float],
        *,
        epoch: int | None = None,
        step: int | None = None,
        series: Mapping[str, Iterable[float]] | None = None,
    ) -> None:
        """Add metrics by full name, and chunks of raw series that end at ``step``; also a heartbeat."""
        self.record_all(run_id, [Measurements(metrics, epoch, step, series or {})])

    def record_all(self, run_id: str, records: Iterable[RecordLike]) -> None:
        """Add many records in one transaction."""
        self.write(measured(run_id, records))

    def add_details(self, run_id: str, details: Mapping[str, Any]) -> None:
        """Update the details of a run; existing keys are replaced."""
        self.write(Write(run_id, details=details))

    def add_remark(self, run_id: str, remark: str) -> None:
        """Add a sentence to the remarks on a run, unless it is there."""
        self.write(Write(run_id, remark=remark))

    def write(self, write: Write) -> None:
        """Write to a run.  While the database cannot be written, writes of this process's runs are kept."""
        recorder = self.recorders.get(write.run_id)
        if recorder is None:
            with self.writing() as session:
                write.execute(session)
        else:
            recorder.write(write)
            self._leave(recorder)

    def heartbeat(self, run_id: str) -> None:
        """Record a heartbeat of a running run."""
        if run_id in self.recorders:
            self.recorders[run_id].beat()
        else:
            self.write(Write(run_id))

    def flush(self) -> None:
        """Retry pending writes."""
        for recorder in list(self.recorders.values()):
            recorder.flush()
            self._leave(recorder)

    def _leave(self, recorder: Recorder) -> None:
        """Unregister a run that has ended, unless it has pending writes."""
        if recorder.ended and not recorder.has_pending:
            self.recorders.pop(recorder.run_id, None)

    def lost(self, run_id: str) -> str:
        """A sentence about what could be written neither to the database nor to a spool file; or empty."""
        recorder = self.recorders.get(run_id)
        return recorder.lost if recorder else ""

    def sync(self) -> bool:
        """Wait until everything recorded so far would survive a power failure; False if that fails."""
        return all(recorder.durable for recorder in self.recorders.values()) and super().sync()

    def replay(self, timeout: float | None = None, run_id: str | None = None) -> None:
        """Record the spool files of dead processes, and report it."""
        for line in replay(self, timeout, run_id):
            log.warning(printable(line))

    def end(self, run_id: str, status: str, message: str = "") -> None:
        """Set the final status of a run."""
        if status not in STATUSES:
            raise ValueError(f"a run cannot be {status}")
        self.write(Write(run_id, status=status, message=message.replace("\0", " ")))  # PostgreSQL text has no \0
