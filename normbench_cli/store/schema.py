"""The tables of the results database.

A change here needs a migration in ``migrations/versions``, a new HEAD, and an old database of the new revision,
which ``python -m tests.store.make_old_database`` writes to ``tests/store/old``; tests compare all three.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from normbench_cli.store.errors import DamagedValue

HEAD = "0004"
VERSION_TABLE = "normbench_schema_version"  # Alembic's default name may be used by another program

RowId = BigInteger().with_variant(Integer, "sqlite")


class NanFloat(TypeDecorator[float]):
    """A float that may be infinite or NaN.

    SQLite stores infinities but turns NaN into NULL, so NULL means NaN; a value that was not measured has no row.
    """

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        return None if value is None or value != value else float(value)

    def process_result_value(self, value: float | None, dialect: Dialect) -> float:
        return float("nan") if value is None else value


class JsonObject(TypeDecorator[dict[str, Any]]):
    """A JSON object.  NULL, in rows older than the column, means an empty one."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: dict[str, Any] | None, dialect: Dialect) -> dict[str, Any]:
        return {} if value is None else value


class UtcDateTime(TypeDecorator[datetime]):
    """A time, stored in UTC without a time zone (SQLite has none) and loaded with one."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """SQLAlchemy's processor, with our own error for values that are not times."""
        process = super().result_processor(dialect, coltype)
        assert process is not None

        def read(value: Any) -> Any:
            try:
                return process(value)
            except (TypeError, ValueError) as error:
                raise DamagedValue(f"is {ascii(value)[:60]}, not a time") from error

        return read


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={  # migrations can only change named constraints
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Environment(Base):
    """The facts of code and machine; runs with equal facts share a row."""

    __tablename__ = "environments"

    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)


class Run(Base):
    """One run: its settings, its status, and the process that executes it.

    Settings with columns of their own are also in ``config``, as recorded when the run began; tag and note may change
    later.
    """

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(String(8), primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    status: Mapped[str] = mapped_column("state", String(20), index=True)  # one of STATUSES
    message: Mapped[str] = mapped_column(Text)
    norm: Mapped[str] = mapped_column(String(500))
    act: Mapped[str] = mapped_column(String(500))
    model: Mapped[str] = mapped_column(String(500))
    data: Mapped[str] = mapped_column(String(500))
    objective: Mapped[str] = mapped_column(String(500))
    seed: Mapped[int | None]
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    tag: Mapped[str] = mapped_column(String(200), index=True)
    note: Mapped[str] = mapped_column(Text)
    argv: Mapped[list[str]] = mapped_column(JSON)  # not part of the environment, which runs share
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int]
    process_started: Mapped[float] = mapped_column(Double)  # process ids are reused
    environment_id: Mapped[int] = mapped_column(ForeignKey("environments.id"), index=True)
    details: Mapped[dict[str, Any]] = mapped_column(JsonObject, nullable=True)  # data, sources, remarks, ...

    environment: Mapped[Environment] = relationship(lazy="joined", innerjoin=True)


class Metric(Base):
    """One measured value, ``split/name@condition``.  Rows are only added; the last row of a name counts."""

    __tablename__ = "metrics"
    __table_args__ = (Index(None, "run_id", "split", "name", "condition"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    epoch: Mapped[int | None]
    step: Mapped[int | None]
    split: Mapped[str] = mapped_column(String(20))
    condition: Mapped[str] = mapped_column(String(200))
    name: Mapped[str] = mapped_column(String(200))
    value: Mapped[float] = mapped_column(NanFloat, nullable=True)
    unit: Mapped[str] = mapped_column(String(20))
    recorded_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SeriesChunk(Base):
    """A chunk of a raw series, such as the time of every step of an epoch; `rows.pack` encodes its data.

    In a thinned chunk (`thin`), ``data`` has the middle one of each ``thinned`` consecutive values; ``count`` is
    unchanged.
    """

    __tablename__ = "samples"
    __table_args__ = (Index(None, "run_id", "name"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(200))
    epoch: Mapped[int | None]
    first_step: Mapped[int]
    count: Mapped[int]  # of measured values
    data: Mapped[bytes] = mapped_column(LargeBinary)
    thinned: Mapped[int | None]  # NULL: every value is kept


class Night(Base):
    """One execution of a nightly suite; `verdict` is its result."""

    __tablename__ = "nights"

    id: Mapped[str] = mapped_column(String(8), primary_key=True)
    suite: Mapped[str] = mapped_column(String(500), index=True)
    day: Mapped[str] = mapped_column(String(10))  # the local date on which it began, 2026-01-31
    status: Mapped[str] = mapped_column("state", String(20))  # one of NIGHT_STATUSES
    message: Mapped[str] = mapped_column(Text)
    revision: Mapped[str] = mapped_column(String(64))  # of the code; empty outside a checkout
    verdict: Mapped[dict[str, Any]] = mapped_column(JSON)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int]
    process_started: Mapped[float] = mapped_column(Double)
    environment_id: Mapped[int] = mapped_column(ForeignKey("environments.id"), index=True)


class NightValue(Base):
    """A value measured by a night: one metric of one cell.  It outlives the run, which may be deleted."""

    __tablename__ = "night_values"
    __table_args__ = (Index(None, "cell", "metric"),)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    night_id: Mapped[str] = mapped_column(ForeignKey("nights.id", ondelete="CASCADE"), index=True)
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    cell: Mapped[str] = mapped_column(String(500))
    metric: Mapped[str] = mapped_column(String(200))
    repeat: Mapped[int]  # 0: the night's own measurement; 1, 2, ...: the immediate re-measurement
    value: Mapped[float] = mapped_column(NanFloat, nullable=True)
    unit: Mapped[str] = mapped_column(String(20))
    environment_class: Mapped[str] = mapped_column(String(64))  # hash of hardware, versions and settings
    recorded_at: Mapped[datetime] = mapped_column(UtcDateTime)


class NightDecision(Base):
    """A person's decision about a measurement: accept a new baseline, or mute it until a day."""

    __tablename__ = "night_decisions"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))  # accept or mute
    suite: Mapped[str] = mapped_column(String(500))
    measurement: Mapped[str] = mapped_column(String(700))  # cell and metric
    environment_class: Mapped[str] = mapped_column(String(64))  # empty: every class
    until: Mapped[str] = mapped_column(String(10))  # the first day of the new baseline, or after a mute
    reason: Mapped[str] = mapped_column(Text)
    author: Mapped[str] = mapped_column(String(255))
    host: Mapped[str] = mapped_column(String(255))
    made_at: Mapped[datetime] = mapped_column(UtcDateTime)
