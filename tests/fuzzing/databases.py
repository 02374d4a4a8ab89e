"""Damaged databases: a value, bytes, pages or the end of the file, or bytes of its write-ahead log."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests import damaging
from tests.damaging import Damage
from tests.fuzzing.command_lines import known_commands
from tests.fuzzing.words import damaged_bytes

READING = [
    ["runs", "list", "--json"],
    ["runs", "list", "--limit", "0"],
    ["runs", "show", "RUN"],
    ["runs", "show", "RUN", "--json"],
    ["runs", "diff", "RUN", "RUN"],
    ["report", "-q"],
    ["report", "--json", "--curve", "step_time_ms"],
    ["report", "--at", "50%", "--where", "norm=popnorm", "--format", "csv"],
    ["compare", "RUN", "norm=batchnorm"],
    ["db", "check", "--json"],
    ["db", "check"],
    ["db", "backup", "copy.db"],
    ["db", "export", "exported"],
    ["db", "export", "exported", "--series", "--json"],
    ["db", "merge", "../home/normbench.db", "--db", "merged.db"],
]
WRITING = [
    ["runs", "tag", "RUN", "new"],
    ["runs", "rm", "RUN", "--yes", "--force"],
    ["db", "upgrade"],
    ["db", "check", "--repair"],
    ["eval", "RUN"],
    ["train", "--resume", "RUN"],
]


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
    lines = [rng.choice(there(READING))] + ([rng.choice(there(WRITING))] if rng.random() < 0.25 else [])
    return [[run if word == "RUN" else word for word in line] for line in lines], done


def there(lines: list[list[str]]) -> list[list[str]]:
    """Those of commands and options that this version has."""
    known = {path: {flag for one in command.params for flag in one.opts} for path, command in known_commands().items()}
    found = []
    for line in lines:
        options = known.get(tuple(line[:2]), known.get((line[0],)))
        if options is not None and {word for word in line if word.startswith("-")} <= options:
            found.append(line)
    return found
