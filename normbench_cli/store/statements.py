"""Statements that the store executes inside its transactions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import DateTime, Interval, func, literal, select, type_coerce, update
from sqlalchemy.orm import Session

from normbench_cli.store.rows import facts_hash, now
from normbench_cli.store.schema import Environment, Night, Run, UtcDateTime
from normbench_cli.store.server import is_server

LISTENING_SINCE: Any = func.pg_postmaster_start_time()


def unused_id(session: Session, table: type[Run] | type[Night] = Run) -> str:
    new = secrets.token_hex(4)
    while session.scalar(select(table.id).where(table.id == new)):
        new = secrets.token_hex(4)
    return new


def time_of(session: Session, moment: datetime | None = None) -> Any:
    """Convert a time of this machine's clock (default: now) to the database's clock, to be written into a row.

    A server's clock is authoritative for all machines; for a file, there is only the machine's own clock.
    """
    if not is_server(session):
        return moment or now()
    server = func.timezone("utc", func.statement_timestamp(), type_=DateTime())
    ago = max(timedelta(0), now() - moment) if moment else timedelta(0)  # one clock, so its error cancels
    return server - literal(ago, Interval()) if ago else server


class Clock(NamedTuple):
    """The time by the database's clock, and the server's uptime, during which it could receive heartbeats."""

    now: datetime
    up: timedelta = timedelta.max


def clock(session: Session) -> Clock:
    if not is_server(session):
        return Clock(now())
    up = func.statement_timestamp() - LISTENING_SINCE
    return Clock(*session.execute(select(type_coerce(time_of(session), UtcDateTime), up)).one())


def lock_name(session: Session, name: str) -> None:
    """Lock a name until the end of the transaction; not needed for a file, which has a single writer."""
    if is_server(session):
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def update_heartbeat(session: Session, run_id: str, moment: datetime | None = None) -> None:
    running = update(Run).where(Run.id == run_id, Run.status == "running")
    session.execute(running.values(heartbeat_at=time_of(session, moment)))


def environment_id(session: Session, facts: Mapping[str, Any]) -> int:
    """The id of the row with these facts, added if it does not exist."""
    key = facts_hash(facts)
    find = select(Environment.id).where(Environment.hash == key)
    known = session.scalar(find)
    if known is None:
        lock_name(session, f"environment {key}")
        known = session.scalar(find)
    if known is not None:
        return known
    added = Environment(hash=key, facts=dict(facts))
    session.add(added)
    session.flush()
    return added.id
