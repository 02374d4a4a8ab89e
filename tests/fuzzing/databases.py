"""Damaged databases: a value, bytes, pages or the end of the file, or bytes of its write-ahead log."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests import damaging
from tests.damaging import Damage
from tests.fuzzing.words import damaged_bytes

READING = [
    ["runs", "list", "--json"],
    ["runs", "list", "--limit", "0"],
    ["runs", "show", "RUN"],
    ["runs", "show", "RUN", "--json"],
    ["report", "-q"],
    ["report", "--json", "--curve", "step_time_ms"],
    ["report", "--at", "50%", "--where", "norm=popnorm", "--format", "csv"],
    ["compare", "RUN", "norm=batchnorm"],
    ["db", "check", "--json"],
    ["db", "check"],
    ["db", "backup", "copy.db"],
]
WRITING = [["runs", "rm", "RUN", "--yes", "--force"], ["db", "upgrade"], ["eval", "RUN"], ["train", "--resume", "RUN"]]


def damage(path: Path, rng: random.Random) -> Damage:
    """Damage a database file, or its log."""
    if rng.random() < 0.2:
        return damage_log(path, rng)
    return damaging.damage(path, rng.randrange(2**32))


def damage_log(path: Path, rng: random.Random) -> Damage:
    """Leave a log with rows, as a killed process does, and damage it.  SQLite drops what follows a damaged frame."""
    log, kept = path.with_name(path.name + "-wal"), path.with_name("kept")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE runs SET note = note || ' more'")
        connection.execute("INSERT INTO environments (hash, facts) VALUES ('x', '{}')")
        connection.commit()
        shutil.copy(log, kept)
    content = damaged_bytes(kept.read_bytes(), rng)
    kept.unlink()
    log.write_bytes(content)
    return Damage(f"a log of {len(content)} bytes, damaged")


def database_lines(path: Path, rng: random.Random, run_ids: list[str]) -> tuple[list[list[str]], Damage]:
    """Commands for a database that is damaged here: what reads it, and one time in four what writes."""
    done = damage(path, rng)
    run = rng.choice(run_ids)
    lines = [rng.choice(READING)] + ([rng.choice(WRITING)] if rng.random() < 0.25 else [])
    return [[run if word == "RUN" else word for word in line] for line in lines], done
