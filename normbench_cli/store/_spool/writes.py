"""The records that one transaction adds to a run, as a value: executed now, or spooled and executed later."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Table, insert, select, update
from sqlalchemy.orm import Session

from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.rows import RecordLike, Row, metric_rows, now, series_row
from normbench_cli.store.schema import Base, Metric, Run, SeriesChunk
from normbench_cli.store.statements import time_of, update_heartbeat
from normbench_cli.store.status import STATUSES
from normbench_cli.store.values import column_problem

METRICS = Base.metadata.tables[Metric.__tablename__]
SERIES = Base.metadata.tables[SeriesChunk.__tablename__]
NOT_WRITTEN = {"id", "thinned"}  # columns set by the database and by `thin`
MEASURED = {"value", "unit", "data", "id"}  # the other columns identify the measurement


@dataclass(frozen=True)
class Write:
    """Rows of measurements, details, a remark, a final status; each may be empty.

    at: when it was made, which counts as a heartbeat of the run.
    """

    run_id: str
    metrics: Sequence[Row] = ()
    series: Sequence[Row] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    status: str = ""
    message: str = ""
    at: datetime = field(default_factory=now)

    def execute(self, session: Session) -> None:
        if self.metrics:
            session.execute(insert(Metric), list(self.metrics))
        if self.series:
            session.execute(insert(SeriesChunk), list(self.series))
        this = update(Run).where(Run.id == self.run_id)
        if self.details or self.remark:
            known = session.scalar(select(Run.details).where(Run.id == self.run_id).with_for_update()) or {}
            session.execute(this.values(details=with_remark({**known, **self.details}, self.remark)))
        if self.status:
            ended, at = {"status": self.status, "message": self.message}, time_of(session, self.at)
            session.execute(this.values(**ended, heartbeat_at=at, finished_at=at))
        if not (self.details or self.remark or self.status):
            update_heartbeat(session, self.run_id, self.at)

    def unless_recorded(self, session: Session) -> Write:
        """This write without its measurements if they are in the database already; the rest is idempotent."""
        recorded = any(is_recorded(session, table, rows) for table, rows in self._tables())
        return replace(self, metrics=(), series=()) if recorded else self

    def _tables(self) -> Iterable[tuple[Table, Sequence[Row]]]:
        return ((METRICS, self.metrics), (SERIES, self.series))

    def to_json(self) -> dict[str, Any]:
        parts = {"details": dict(self.details), "remark": self.remark, "status": self.status, "message": self.message}
        rows = {table.name: [row_to_json(row) for row in rows] for table, rows in self._tables()}
        return {"at": self.at.isoformat()} | {name: part for name, part in (rows | parts).items() if part}


def is_recorded(session: Session, table: Table, rows: Sequence[Row]) -> bool:
    """Whether the first of these rows is in the table; either all rows of a write are, or none.

    A metric is identified by its time of recording, to the microsecond; a chunk of a series, by its run, name and first
    step.
    """
    if not rows:
        return False
    same = [table.c[name] == value for name, value in rows[0].items() if name not in MEASURED]
    return session.execute(select(table.c.id).where(*same).limit(1)).first() is not None


def with_remark(details: dict[str, Any], remark: str) -> dict[str, Any]:
    """Details with a sentence added to their remarks, unless it is there."""
    known = details.get("remarks")
    remarks = known if isinstance(known, list) else []
    return details if not remark or remark in remarks else {**details, "remarks": [*remarks, remark]}


def measured(run_id: str, records: Iterable[RecordLike]) -> Write:
    """Make the write that adds these records."""
    metrics: list[Row] = []
    series: list[Row] = []
    for record in records:
        metrics += metric_rows(run_id, record.metrics, record.epoch, record.step)
        for name, numbers in record.series.items():
            series.append(series_row(run_id, name, numbers, record.epoch, record.step))
    return Write(run_id, tuple(metrics), tuple(series))


def row_to_json(row: Row) -> dict[str, Any]:
    """Convert a row to JSON, without its run, and with times and bytes as text."""
    return {name: as_text(value) for name, value in row.items() if name != "run_id"}


def as_text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def write_from_json(run_id: str, content: Mapping[str, Any]) -> Write:
    """The inverse of `Write.to_json`.  Raises `DamagedValue` for a value that is invalid for its column."""
    try:
        metrics, series = (
            tuple(row_from_json(table, {**row, "run_id": run_id}) for row in content.get(table.name, []))
            for table in (METRICS, SERIES)
        )
        details = content.get("details", {})
        remark, status, message = (content.get(key, "") for key in ("remark", "status", "message"))
        at = datetime.fromisoformat(content["at"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedValue(f"is not what is written to a run ({type(error).__name__}: {error})") from error
    if not (isinstance(details, dict) and isinstance(remark, str) and isinstance(message, str) and at.tzinfo):
        raise DamagedValue("has details, a remark, a message or a time that are none")
    if status not in ("", *STATUSES):
        raise DamagedValue(f"has the status {ascii(status)[:60]}")
    return Write(run_id, metrics, series, details, remark, status, message, at)


def row_from_json(table: Table, texts: Mapping[str, Any]) -> Row:
    row = dict(texts)
    if "recorded_at" in row:
        row["recorded_at"] = datetime.fromisoformat(row["recorded_at"])
    if "data" in row:
        row["data"] = base64.b64decode(row["data"], validate=True)
    needed = {column.name for column in table.columns} - NOT_WRITTEN
    if set(row) != needed:
        raise DamagedValue(f"{table.name}: a row has other columns: {', '.join(sorted(set(row) ^ needed))[:200]}")
    for name, value in row.items():
        if problem := column_problem(table.c[name], [value]):
            raise DamagedValue(f"{table.name}: column {name} {problem}")
    return row


def summary(writes: Sequence[Write]) -> str:
    """Describe what writes would record: ``26 values of epochs 3-4, 2 series and the status finished``"""
    rows = [row for write in writes for row in write.metrics]
    epochs = sorted({row["epoch"] for row in rows if row["epoch"] is not None})
    parts = []
    if rows:
        which = (
            f" of epoch {epochs[0]}" if len(epochs) == 1 else f" of epochs {epochs[0]}-{epochs[-1]}" if epochs else ""
        )
        parts.append(f"{len(rows)} {'value' if len(rows) == 1 else 'values'}{which}")
    if chunks := sum(len(write.series) for write in writes):
        parts.append(f"{chunks} pieces of series" if chunks > 1 else "a piece of a series")
    parts += ["its details"] if any(write.details for write in writes) else []
    parts += [f"the remark '{write.remark}'" for write in writes if write.remark]
    parts += [f"the status {write.status}" for write in writes if write.status]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]])) or "heartbeats"
