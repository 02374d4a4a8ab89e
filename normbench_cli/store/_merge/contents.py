"""The rows of a database, ready to be merged into another: owners (runs, nights) by identity, and their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from normbench_cli.store._merge.collisions import Identity, identity
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.reading import CHUNKS_AT_ONCE, ENVIRONMENTS, ROWS_AT_ONCE, RUNS, AnySelect, fetch, fetch_each
from normbench_cli.store.rows import Row
from normbench_cli.store.schema import Base

TABLES = Base.metadata.tables
METRICS, SAMPLES, NIGHTS = TABLES["metrics"], TABLES["samples"], TABLES["nights"]
VALUES, DECISIONS = TABLES["night_values"], TABLES["night_decisions"]
NOTED = {RUNS.name: "details", NIGHTS.name: "verdict"}  # the column that stores an earlier id
FACTS = {RUNS.name: ("kind", "fingerprint"), NIGHTS.name: ("suite", "revision")}  # immutable columns


@dataclass
class Contents:
    """The readable part of a database.  owners: by table name, then by identity, whole rows whose ``environment_id`` is
    the environment's hash; left_out: damaged rows, and what is wrong with them."""

    session: Session
    environments: dict[str, dict[str, Any]]
    owners: dict[str, dict[Identity, Row]]
    left_out: dict[str, str]

    def belongings(self, table: Table, owner: str, columns: list[str]) -> list[tuple[Any, ...]]:
        """The rows of a table that belong to a run or night, in recording order."""
        key = table.columns["night_id" if table is VALUES else "run_id"]
        query = select(*(table.columns[name] for name in columns)).where(key == owner).order_by(table.columns["id"])
        at_once = CHUNKS_AT_ONCE if table is SAMPLES else ROWS_AT_ONCE
        return [tuple(row) for row in fetch(self.session, query, at_once)]


def read_contents(session: Session) -> Contents:
    left_out: dict[str, str] = {}
    found, problems = fetch_each(session, select(*ENVIRONMENTS.columns), ENVIRONMENTS)
    left_out |= problems
    hashes = {number: key for number, key, _ in found}
    contents = Contents(session, {key: facts for _, key, facts in found}, {}, left_out)
    for table in (RUNS, NIGHTS):
        owners: dict[Identity, Row] = {}
        for row in rows_of(session, table, left_out):
            key = hashes.get(row["environment_id"])
            if key is None:
                left_out[f"{table.name[:-1]} {row['id']}"] = "its environment is missing"
                continue
            one = identity_of(table, row)
            owners[(row["id"], *one[1:]) if one in owners else one] = row | {"environment_id": key}
        contents.owners[table.name] = owners
    return contents


def rows_of(session: Session, table: Table, left_out: dict[str, str]) -> Iterator[Row]:
    """The undamaged rows of a table, as dictionaries."""
    names = [column.name for column in table.columns]
    query: AnySelect = select(*table.columns)
    try:
        found, problems = fetch_each(session, query, table)
    except DamagedValue as error:
        left_out[f"the table {table.name}"] = str(error)
        return
    left_out |= problems
    for row in found:
        yield dict(zip(names, row, strict=True))


def identity_of(table: Table, row: Row) -> Identity:
    noted = row[NOTED[table.name]]
    return identity(row["id"], noted, row["started_at"].isoformat(), *(row[name] for name in FACTS[table.name]))


def columns_of(table: Table, *without: str) -> list[str]:
    return [column.name for column in table.columns if column.name not in without]
