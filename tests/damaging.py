"""A small database, and one of many ways to damage it, chosen by a seed."""

from __future__ import annotations

import random
import sqlite3
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from normbench_cli.store import Store
from normbench_cli.store.schema import Base, Night, NightDecision, NightValue
from tests.store.make_old_database import decision_rows, night_rows, night_value_rows

RUNS = 5
Rows = dict[str, list[tuple[Any, ...]]]
VALUES: list[Any] = [
    *(-1, 0, 7, 2**62, -(2**63), 1.5, 1e308, float("inf"), float("-inf")),
    *("", "abc", "running", "finished", "ffffffff", "\x1b[31mred\x1b[0m\x07\u202e", "a\nb|c,d", "x" * 3_000_000),
    *("{", "[]", "{}", "null", '"text"', "[" * 100_000, '{"epochs": "x", "lr": [1]}', '{"seed": 1e400, "norm": {}}'),
    *('{"norm": 5}', '{"epochs": 1000000000000000000000000}', '{"tag": "\\ud800", "norm": "nosuch:x=1"}'),
    *("yesterday", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2026-13-45 99:99:99", "2026-01-31"),
    *(b"", b"\xff\xfe\x00", b"bytes", zlib.compress(b"\0" * 40), zlib.compress(b"\0" * 30_000_000)),
]


@dataclass
class Damage:
    """What was done.  touched: ids of the runs that it may concern; None: that cannot be known."""

    what: str
    touched: set[str] | None = None


def make_database(path: Path) -> list[str]:
    """Runs with metrics by epoch and series; their ids."""
    ids = []
    with Store.open(str(path), synchronous="OFF") as store:
        for number in range(RUNS):
            norm = ("popnorm", "batchnorm")[number % 2]
            config = {"norm": norm, "seed": number, "epochs": 4, "tag": "tag", "note": "a note"}
            run_id = store.begin(config, f"{number:016x}", {"host": "here"}, argv=["train"])
            for epoch in range(1, 5):
                metrics = {"test/accuracy": epoch / 10, "train/loss": 1 / epoch, "step_time_ms": 2.0}
                steps = {"step_time_ms": [float(step) for step in range(20)]}
                store.record(run_id, metrics, epoch=epoch, step=20 * epoch, series=steps)
            store.end(run_id, "finished")
            ids.append(run_id)
        add_nights(store, ids)
    return ids


def add_nights(store: Store, ids: list[str]) -> None:
    """A night, what it measured, and a decision."""
    night = next(night_rows()) | {"environment_id": 1}
    with store.writing() as session:
        session.execute(insert(Night), [night])
        session.execute(insert(NightValue), [row | {"run_id": ids[0]} for row in night_value_rows()][:2])
        session.execute(insert(NightDecision), list(decision_rows()))


def damage(path: Path, seed: int) -> Damage:
    """Damage a database file in the way of this seed: every second time a value."""
    choose = random.Random(seed)
    if seed % 2:
        return damage_value(path, choose)
    return choose.choice([flip_bytes, flip_bytes, replace_page, cut])(path, choose)


def damage_value(path: Path, choose: random.Random) -> Damage:
    table = choose.choice(list(Base.metadata.tables.values()))
    column = choose.choice(list(table.columns)).name
    value = choose.choice(VALUES)
    place = "CAST(? AS TEXT)" if isinstance(value, bytes) and choose.random() < 0.5 else "?"
    with closing(sqlite3.connect(path)) as connection:
        number = choose.choice([n for (n,) in connection.execute(f"SELECT rowid FROM {table.name}")])
        key = {"runs": "id", "metrics": "run_id", "samples": "run_id"}.get(table.name)
        where = f"WHERE rowid = {number}"
        owned = f"SELECT {key} FROM {table.name} {where}" if key else ""
        owners = {owner for (owner,) in connection.execute(owned)} if owned else set()
        with suppress(sqlite3.IntegrityError):  # the number of a row stays a number
            connection.execute(f"UPDATE OR IGNORE {table.name} SET {column} = {place} {where}", [value])
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    what = f"{table.name}.{column} = {value!r:.60} as {place}"
    return Damage(what, None if table.name == "environments" else owners)  # every run shares an environment


def flip_bytes(path: Path, choose: random.Random) -> Damage:
    content = bytearray(path.read_bytes())
    places = [choose.randrange(len(content)) for _ in range(choose.choice([1, 3, 30]))]
    for place in places:
        content[place] ^= 1 << choose.randrange(8)
    path.write_bytes(content)
    return Damage(f"bits flipped at {places}")


def replace_page(path: Path, choose: random.Random) -> Damage:
    content, size = bytearray(path.read_bytes()), 4096
    number, other = (choose.randrange(len(content) // size) for _ in range(2))
    new = choose.choice([bytes(size), b"\xff" * size, choose.randbytes(size), content[other * size :][:size]])
    content[number * size : (number + 1) * size] = new
    path.write_bytes(content)
    return Damage(f"page {number} replaced by {new[:8]!r}...")


def cut(path: Path, choose: random.Random) -> Damage:
    length = choose.randrange(path.stat().st_size)
    path.write_bytes(path.read_bytes()[:length])
    return Damage(f"cut to {length} bytes")


def rows_of(path: Path, left_out: set[str]) -> Rows:
    """All rows of the runs that are not left out, byte by byte."""
    found: Rows = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for table, key in (("runs", "id"), ("metrics", "run_id"), ("samples", "run_id")):
            rows = connection.execute(f"SELECT {key}, * FROM {table} ORDER BY rowid").fetchall()
            found[table] = [row for row in rows if row[0] not in {one.encode() for one in left_out}]
    return found
