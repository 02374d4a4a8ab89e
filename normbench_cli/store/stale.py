"""Runs and nights that are marked running: those whose process is gone, and those whose process is alive."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from normbench_cli.store.processes import GRACE, is_gone
from normbench_cli.store.reading import AnyRow, fetch_each
from normbench_cli.store.schema import Night, Run
from normbench_cli.store.statements import clock
from normbench_cli.store.store import Store


def dead_nights(store: Store, grace: timedelta = GRACE) -> list[AnyRow]:
    return gone(store, Night, grace)


def at_work(store: Store) -> list[str]:
    """The running runs and nights whose process is alive."""
    found: dict[str, type[Run] | type[Night]] = {"run": Run, "night": Night}
    dead = {row.id for kind in found.values() for row in gone(store, kind)}
    return [f"{word} {row.id}" for word, kind in found.items() for row in running(store, kind) if row.id not in dead]


def gone(store: Store, kind: type[Run] | type[Night], grace: timedelta = GRACE) -> list[AnyRow]:
    rows = running(store, kind)
    with store.reading() as session:
        time = clock(session)
    return [row for row in rows if is_gone(row, time.now, grace, time.up)]


def running(store: Store, kind: type[Run] | type[Night]) -> list[AnyRow]:
    columns = (kind.id, kind.host, kind.pid, kind.process_started, kind.heartbeat_at)
    table = kind.metadata.tables[kind.__tablename__]
    with store.reading() as session:
        return fetch_each(session, select(*columns).where(kind.status == "running"), table)[0]
