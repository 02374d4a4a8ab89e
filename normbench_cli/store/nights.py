"""Writing and reading nights.  Every function is one short transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute

from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import Taken
from normbench_cli.store.metric_names import unit_of
from normbench_cli.store.processes import this_process
from normbench_cli.store.reading import AnyRow, fetch_each
from normbench_cli.store.rows import now
from normbench_cli.store.schema import Environment, Night, NightValue
from normbench_cli.store.statements import environment_id, time_of, unused_id
from normbench_cli.store.status import NIGHT_STATUSES
from normbench_cli.store.store import Store

NIGHTS: Table = Night.metadata.tables[Night.__tablename__]
VALUES: Table = Night.metadata.tables[NightValue.__tablename__]


def begin_night(store: Store, suite: str, day: date, revision: str, environment: Mapping[str, Any]) -> str:
    """Add a night that this process executes, with status running; returns its new id."""
    with store.writing() as session:
        night_id, moment = unused_id(session, Night), time_of(session)
        session.execute(
            insert(Night).values(
                id=night_id,
                suite=suite,
                day=day.isoformat(),
                status="running",
                message="",
                revision=revision,
                verdict={},
                started_at=moment,
                heartbeat_at=moment,
                environment_id=environment_id(session, environment),
                **this_process(),
            )
        )
    return night_id


def reopen_night(store: Store, night_id: str, stale: Collection[str]) -> None:
    """Let this process continue a killed night.  Its re-measurements, and the values of these cells, are deleted and
    will be measured again."""
    with store.writing() as session:
        of_row = select(Night.status, Night.pid).where(Night.id == night_id).with_for_update()
        status, pid = session.execute(of_row).one_or_none() or ("", 0)
        if status == "running":  # another process has continued it since
            raise Taken(f"night {night_id} is already being continued by process {pid}", "wait for it")
        of_night = NightValue.night_id == night_id
        session.execute(delete(NightValue).where(of_night, NightValue.repeat > 0))
        for cell in stale:
            session.execute(delete(NightValue).where(of_night, NightValue.cell == cell))
        again = {"status": "running", "message": "", "heartbeat_at": time_of(session), "finished_at": None}
        session.execute(update(Night).where(Night.id == night_id).values(**again, **this_process()))


def beat_night(store: Store, night_id: str) -> None:
    """Record a heartbeat of a night's process."""
    with store.writing() as session:
        session.execute(update(Night).where(Night.id == night_id).values(heartbeat_at=time_of(session)))


def record_cell(
    store: Store,
    night_id: str,
    cell: str,
    values: Mapping[str, float],
    *,
    environment_class: str,
    run_id: str | None = None,
    repeat: int = 0,
    units: Mapping[str, str] | None = None,
) -> None:
    """Record all values of a cell in one transaction, so that a killed night has complete cells.  Also a heartbeat."""
    moment = now()
    rows = [
        {
            "night_id": night_id,
            "run_id": run_id,
            "cell": cell,
            "metric": metric,
            "repeat": repeat,
            "value": float(value),
            "unit": (units or {}).get(metric) or unit_of(metric),
            "environment_class": environment_class,
            "recorded_at": moment,
        }
        for metric, value in values.items()
    ]
    with store.writing() as session:
        if rows:
            session.execute(insert(NightValue), rows)
        session.execute(update(Night).where(Night.id == night_id).values(heartbeat_at=time_of(session, moment)))


def end_night(
    store: Store, night_id: str, status: str, message: str = "", verdict: Mapping[str, Any] | None = None
) -> None:
    """Set the final status and the verdict of a night."""
    if status not in NIGHT_STATUSES:
        raise ValueError(f"a night cannot be {status}")
    with store.writing() as session:
        moment = time_of(session)
        values = {"status": status, "message": message, "heartbeat_at": moment, "finished_at": moment}
        session.execute(update(Night).where(Night.id == night_id).values(**values, verdict=dict(verdict or {})))


def mark_killed(store: Store, night: AnyRow) -> None:
    """Mark a running night whose process is gone as killed, unless it was continued since it was read."""
    unchanged = (Night.id == night.id, Night.status == "running", Night.heartbeat_at == night.heartbeat_at)
    values = {"status": "killed", "message": "its process disappeared", "finished_at": night.heartbeat_at}
    with store.writing() as session:
        session.execute(update(Night).where(*unchanged).values(**values))


def stop_night(store: Store, night_id: str, message: str) -> None:
    """Mark a night that the user stopped; it can be continued like a killed one."""
    running = (Night.id == night_id, Night.status == "running")
    with suppress(DatabaseError), store.writing() as session:
        moment = time_of(session)
        values = {"status": "killed", "message": message, "heartbeat_at": moment, "finished_at": moment}
        session.execute(update(Night).where(*running).values(**values))


def nights(store: Store, suite: str | None = None) -> list[AnyRow]:
    """The nights of a suite, or all, oldest first; damaged ones are left out and named by `Store.damage`."""
    query = select(*columns_of(Night)).order_by(Night.started_at, Night.id)
    if suite is not None:
        query = query.where(Night.suite == suite)
    with store.reading() as session:
        found, damaged = fetch_each(session, query, NIGHTS)
    store.left_out |= damaged
    return sorted(found, key=lambda night: (night.started_at, night.id))


def night_values(store: Store, suite: str | None = None) -> list[AnyRow]:
    """The values measured by the nights of a suite, or by all nights, in recording order."""
    query = select(*columns_of(NightValue)).order_by(NightValue.id)
    if suite is not None:
        query = query.where(NightValue.night_id.in_(select(Night.id).where(Night.suite == suite)))
    with store.reading() as session:
        found, damaged = fetch_each(session, query, VALUES)
    store.left_out |= damaged
    return sorted(found, key=lambda value: value.id)


def environments(store: Store, numbers: Collection[int]) -> dict[int, dict[str, Any]]:
    """The facts of these environments, by number."""
    query = select(Environment.id, Environment.facts).where(Environment.id.in_(sorted(numbers)))
    table = Environment.metadata.tables[Environment.__tablename__]
    with store.reading() as session:
        found, damaged = fetch_each(session, query, table)
    store.left_out |= damaged
    return {row.id: row.facts for row in found}


def columns_of(table: type[Night] | type[NightValue]) -> list[InstrumentedAttribute[Any]]:
    """The columns of a table, labeled with its attribute names."""
    return [getattr(table, attribute.key) for attribute in table.__mapper__.column_attrs]
