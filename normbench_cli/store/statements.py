"""Statements that the store's methods execute inside their transactions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from normbench_cli.store.rows import facts_hash, now
from normbench_cli.store.schema import Environment, Night, Run


def unused_id(session: Session, table: type[Run] | type[Night] = Run) -> str:
    new = secrets.token_hex(4)
    while session.scalar(select(table.id).where(table.id == new)):
        new = secrets.token_hex(4)
    return new


def update_heartbeat(session: Session, run_id: str) -> None:
    running = update(Run).where(Run.id == run_id, Run.status == "running")
    session.execute(running.values(heartbeat_at=now()))


def interrupt_running(session: Session, run_ids: Sequence[str]) -> list[str]:
    """Mark those of these runs that are running as interrupted by their user; their ids."""
    running = (Run.id.in_(run_ids), Run.status == "running")
    found = list(session.scalars(select(Run.id).where(*running)))
    moment = now()
    values = {"status": "interrupted", "message": "stopped by hand", "heartbeat_at": moment, "finished_at": moment}
    session.execute(update(Run).where(*running).values(**values))
    return found


def environment_id(session: Session, facts: Mapping[str, Any]) -> int:
    """The row of these facts, added if it does not exist."""
    key = facts_hash(facts)
    known = session.scalar(select(Environment.id).where(Environment.hash == key))
    if known is not None:
        return known
    added = Environment(hash=key, facts=dict(facts))
    session.add(added)
    session.flush()
    return added.id
