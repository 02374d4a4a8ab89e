"""Repairs of a database's rows: damaged values, and references to missing rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from sqlalchemy import Table, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from normbench_cli.store._repair.replacements import repaired_row
from normbench_cli.store.check import HEX, damaged_rows
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.reading import ENVIRONMENTS, RUNS, fetch, row_name, row_number
from normbench_cli.store.rows import Row, facts_hash
from normbench_cli.store.schema import Base, Run
from normbench_cli.store.store import Store

TABLES = Base.metadata.tables
OF_RUNS = ("metrics", "samples")
REMARK = "a repair of the database has removed or emptied {} of this run's measurements"


def repair_rows(store: Store, done: list[str], lost: list[str], touched: Counter[str]) -> None:
    """Repair everything in one transaction; append to `done` and `lost` a sentence for each repair and each loss.

    touched: how many measurements each run has lost already; noted in the run's remarks.
    """
    with store.writing() as session:
        session.execute(text("PRAGMA defer_foreign_keys = ON"))
        give_ids(session, done)
        for table in Base.metadata.sorted_tables:
            for number, problems in list(damaged_rows(session, table)):
                repair_row(session, table, number, "; ".join(problems), done, lost, touched)
        repair_references(session, done, lost)
        for run_id, count in touched.items():
            add_remark(session, run_id, REMARK.format(count))


def sound_values(session: Session, table: Table, number: int) -> Row:
    """The undamaged values of a row."""
    sound: Row = {}
    for column in table.columns:
        try:
            ((sound[column.name],),) = fetch(session, select(column).where(row_number(table) == number))
        except (DamagedValue, ValueError):
            continue
    return sound


def repair_row(
    session: Session, table: Table, number: int, problem: str, done: list[str], lost: list[str], touched: Counter[str]
) -> None:
    name, sound = row_name(session, table, number), sound_values(session, table, number)
    here = row_number(table) == number
    damaged = [column.name for column in table.columns if column.name not in sound]
    values = (
        repaired_row(table.name, damaged, sound) if damaged else None
    )  # `damaged` is empty if data of the right type cannot be unpacked
    if table.name in OF_RUNS and isinstance(sound.get("run_id"), str):
        touched[sound["run_id"]] += 1
    if values is not None and not taken(session, table, values):
        session.execute(update(table).where(here).values(values))
        done.append(
            f"{name}: {problem}; put in its place: {', '.join(f'{key} {new!r}' for key, new in values.items())}"
        )
        return
    with_it = measurements(session, sound.get("id")) if table is RUNS else 0
    session.execute(delete(table).where(here))
    lost.append(f"{name}{f' with {with_it} metrics' if with_it else ''}: {problem}")


def taken(session: Session, table: Table, values: Row) -> bool:
    """Whether another environment has the same hash."""
    if table is not ENVIRONMENTS or "hash" not in values:
        return False
    return bool(session.scalar(select(func.count()).select_from(table).where(table.c.hash == values["hash"])))


def measurements(session: Session, run_id: Any) -> int:
    metrics = TABLES["metrics"]
    return session.scalar(select(func.count()).select_from(metrics).where(metrics.c.run_id == run_id)) or 0


def give_ids(session: Session, done: list[str]) -> None:
    """Give each run with a damaged id a new one; if there is only one such run and measurements with only one id lack
    a run, that id."""
    raw: Any = session.connection().connection.dbapi_connection
    rows = raw.execute("SELECT rowid, CAST(id AS BLOB), typeof(id) FROM runs").fetchall()
    bad = [(number, old) for number, old, kind in rows if kind != "text" or not is_id(old.decode(errors="replace"))]
    query = " UNION ".join(f"SELECT run_id FROM {name} WHERE run_id NOT IN (SELECT id FROM runs)" for name in OF_RUNS)
    lone = [key for (key,) in (raw.execute(query).fetchall() if bad else []) if isinstance(key, str) and is_id(key)]
    for number, old in bad:
        new = lone[0] if len(bad) == len(lone) == 1 else hashlib.sha256(old).hexdigest()[:8]
        for name in OF_RUNS:
            raw.execute(
                f"UPDATE {name} SET run_id = ? WHERE run_id = (SELECT id FROM runs WHERE rowid = ?)", (new, number)
            )
        raw.execute("UPDATE runs SET id = ? WHERE rowid = ?", (new, number))
        done.append(f"a run whose id was {ascii(old)[1:40]} has the id {new} now")


def is_id(key: str) -> bool:
    return len(key) == 8 and not set(key) - HEX


def repair_references(session: Session, done: list[str], lost: list[str]) -> None:
    """Fix references to missing rows: runs and nights get an empty environment; measurements without a run are
    removed."""
    raw: Any = session.connection().connection.dbapi_connection
    removed: Counter[tuple[str, str]] = Counter()
    for table, number, parent, key in raw.execute("PRAGMA foreign_key_check").fetchall():
        columns = {row[0]: row[3] for row in raw.execute(f"PRAGMA foreign_key_list({table})")}
        if parent == ENVIRONMENTS.name:
            values = (empty_environment(session), number)
            raw.execute(f"UPDATE {table} SET environment_id = ? WHERE rowid = ?", values)
            done.append(f"{row_name(session, TABLES[table], number)}: its environment is lost; it has an empty one now")
        elif (table, columns[key]) == ("night_values", "run_id"):
            raw.execute("UPDATE night_values SET run_id = NULL WHERE rowid = ?", (number,))
        else:
            raw.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
            removed[table, parent] += 1
    lost += [f"{count} rows of {table}: their rows of {parent} are lost" for (table, parent), count in removed.items()]


def empty_environment(session: Session) -> int:
    key = facts_hash({})
    known = session.scalar(select(ENVIRONMENTS.c.id).where(ENVIRONMENTS.c.hash == key))
    if known is None:
        session.execute(insert(ENVIRONMENTS).values(hash=key, facts={}))
        known = session.scalar(select(ENVIRONMENTS.c.id).where(ENVIRONMENTS.c.hash == key))
    return int(known or 0)


def add_remark(session: Session, run_id: str, remark: str) -> None:
    details = session.scalar(select(Run.details).where(Run.id == run_id))
    if details is not None:
        remarks = details.get("remarks")
        noted = {**details, "remarks": [*(remarks if isinstance(remarks, list) else []), remark]}
        session.execute(update(Run).where(Run.id == run_id).values(details=noted))
