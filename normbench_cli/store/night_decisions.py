"""Recording and reading people's decisions about measurements of nights.  Every function is one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Table, insert, select

from normbench_cli.store.reading import AnyRow, fetch_each
from normbench_cli.store.schema import NightDecision
from normbench_cli.store.store import Store

DECISIONS: Table = NightDecision.metadata.tables[NightDecision.__tablename__]


def add_decisions(store: Store, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add all decisions, or none."""
    with store.writing() as session:
        session.execute(insert(NightDecision), [dict(row) for row in rows])


def decision_rows(store: Store, suite: str) -> list[AnyRow]:
    """The decisions about a suite, oldest first; damaged ones are left out and named by `Store.damage`."""
    query = select(*DECISIONS.columns).where(NightDecision.suite == suite).order_by(NightDecision.id)
    with store.reading() as session:
        found, damaged = fetch_each(session, query, DECISIONS)
    store.left_out |= damaged
    return sorted(found, key=lambda row: row.id)
