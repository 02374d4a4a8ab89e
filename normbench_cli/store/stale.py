"""Runs and nights that are marked running: whose process is gone, and whose is at work."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from normbench_cli.store.processes import GRACE, is_gone
from normbench_cli.store.reading import AnyRow, fetch_each
from normbench_cli.store.rows import now
from normbench_cli.store.schema import Night, Run
from normbench_cli.store.store import Store


def dead_nights(store: Store, grace: timedelta = GRACE) -> list[AnyRow]:
    return [night for night in running(store, Night) if is_gone(night, now(), grace)]


def at_work(store: Store) -> list[str]:
    """The running runs and nights whose process is alive."""
    found = {"run": running(store, Run), "night": running(store, Night)}
    return [f"{kind} {row.id}" for kind, rows in found.items() for row in rows if not is_gone(row, now())]


def running(store: Store, kind: type[Run] | type[Night]) -> list[AnyRow]:
    columns = (kind.id, kind.host, kind.pid, kind.process_started, kind.heartbeat_at)
    table = kind.metadata.tables[kind.__tablename__]
    with store.reading() as session:
        return fetch_each(session, select(*columns).where(kind.status == "running"), table)[0]
