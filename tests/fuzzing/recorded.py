"""The rows of a database, byte by byte, and what a command has lost of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

Row = tuple[object, ...]
Rows = dict[tuple[str, str], set[Row]]  # by table and run
OWNERS = {
    "runs": "id",
    "metrics": "run_id",
    "samples": "run_id",
    "nights": "''",
    "night_values": "''",
    "night_decisions": "''",
}
CHANGING = {
    "state",
    "message",
    "heartbeat_at",
    "finished_at",
    "host",
    "pid",
    "process_started",
    "tag",
    "note",
    "details",
}


def read_rows(path: Path, leave_out: set[str]) -> Rows | None:
    """The rows of a database that do not belong to the runs left out; of a run, the columns that never change.

    None: SQLite itself cannot read them.
    """
    found: Rows = {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            for table, owner in OWNERS.items():
                names = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
                kept = ", ".join(f'"{name}"' for name in names if table != "runs" or name not in CHANGING)
                for run, *row in connection.execute(f"SELECT {owner}, {kept} FROM {table}") if names else ():
                    found.setdefault((table, text(run)), set()).add(tuple(row))
    except sqlite3.Error:
        return None
    return {key: rows for key, rows in found.items() if key[1] not in leave_out}


def text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def lost(before: Rows, after: Rows | None, words: list[str], code: int) -> list[str]:
    """What is missing, in words.  A run that `runs rm` names may go with all its rows, and one that is resumed gives up
    what it will measure again."""
    if after is None:
        return ["the database can no longer be read"]
    removed = named(words) if words[:2] == ["runs", "rm"] and code == 0 else ()
    resumed = named(words) if "--resume" in words else ()
    missing = []
    for (table, run), rows in before.items():
        gone = rows - after.get((table, run), set())
        may_go = run.startswith(tuple(removed)) or (table != "runs" and run.startswith(tuple(resumed)))
        if gone and not may_go:
            missing.append(f"{len(gone)} rows of {table} of run {run} are lost")
    return missing


def named(words: list[str]) -> list[str]:
    return [word.strip().lower() for word in words if word.strip()]
