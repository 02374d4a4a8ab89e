"""Statements that the store's methods execute inside their transactions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
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


def update_heartbeat(session: Session, run_id: str, moment: datetime | None = None) -> None:
    running = update(Run).where(Run.id == run_id, Run.status == "running")
    session.execute(running.values(heartbeat_at=moment or now()))


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
