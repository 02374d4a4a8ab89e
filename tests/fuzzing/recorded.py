"""The rows of a database, byte by byte, and what a command has lost of them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fuzzing.kinds import Input
from tests.fuzzing.rules import Ended

Row = tuple[object, ...]
Rows = dict[tuple[str, str], set[Row]]  # by table and run
OWNERS = dict.fromkeys(["nights", "night_values", "night_decisions"], "''") | {
    "runs": "id",
    "metrics": "run_id",
    "samples": "run_id",
}
CHANGING = {
    *("state", "message", "heartbeat_at", "finished_at", "host", "pid", "process_started"),
    *("tag", "note", "details", "verdict"),
}


def read_rows(path: Path, leave_out: set[str]) -> Rows | None:
    """The rows of a database, without those of the runs left out; of runs and nights, the columns that never change.

    None: SQLite itself cannot read them.
    """
    found: Rows = {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            for table, owner in OWNERS.items():
                names = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
                kept = ", ".join(
                    f'"{name}"' for name in names if table not in ("runs", "nights") or name not in CHANGING
                )
                for run, *row in connection.execute(f"SELECT {owner}, {kept} FROM {table}") if names else ():
                    found.setdefault((table, text(run)), set()).add(tuple(row))
    except sqlite3.Error:
        return None
    return {key: rows for key, rows in found.items() if key[1] not in leave_out}


def text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def stamp(path: Path) -> list[tuple[int, int]]:
    """What changes when a database is written."""
    files = [path, path.with_name(f"{path.name}-wal")]
    return [(file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.exists()]


class Before:
    """What a database held before a command."""

    def __init__(self, path: Path, given: Input, sound: Rows | None = None) -> None:
        """sound: the rows of the database, where nothing in it is damaged and they are known."""
        self.given = given
        self.rows = sound if not given.damage and sound else None
        if self.rows is None and given.damaged is not None:
            self.rows = read_rows(path, given.damaged)
        self.stamp = stamp(path)
        # with a log, SQLite itself moves its rows into the file
        has_log = path.with_name(f"{path.name}-wal").exists()
        self.content = path.read_bytes() if self.rows is None and not has_log else None

    def lost(self, path: Path, words: list[str], ended: Ended) -> list[str]:
        """What is missing, in words.  Of a database damaged beyond reading no byte may change, unless something is
        written on purpose."""
        if stamp(path) == self.stamp:
            return self.not_shown(words, ended)
        if self.rows is None or self.given.damaged is None:
            same = self.content is None or is_writing(words) or path.read_bytes() == self.content
            return [] if same else ["the damaged database was changed"]
        after = read_rows(path, self.given.damaged)
        if after is None:
            return ["the database can no longer be read"]
        return [*missing_rows(self.rows, after, words, ended, self.given.damage), *self.not_shown(words, ended)]

    def not_shown(self, words: list[str], ended: Ended) -> list[str]:
        """Runs that are sound and that `runs list` leaves out."""
        if self.rows is None or words != ["runs", "list", "--json"] or ended.code or self.given.environment:
            return []
        shown = {run["id"] for run in json.loads(ended.out)["runs"]}
        return [f"run {run} is not shown" for table, run in self.rows if table == "runs" and run not in shown]


def missing_rows(before: Rows, after: Rows, words: list[str], ended: Ended, damage: str = "") -> list[str]:
    """The rows that are gone.  `runs rm` says which runs it removes, a run that is resumed gives up what it will
    measure again, `db thin` is for removing raw series, and a repair may remove a row of which a value is damaged, and
    the values of a night whose identifier is."""
    resumed = tuple(word.strip().lower() for word in words if word.strip()) if "--resume" in words else ()
    found = []
    for (table, run), rows in before.items():
        gone = rows - after.get((table, run), set())
        removed = words[:2] == ["runs", "rm"] and run in ended.out
        replaced = table != "runs" and run.startswith(resumed)
        thinned = table == "samples" and words[:2] == ["db", "thin"]
        unknowable = "--repair" in words and len(gone) == 1 and damage.startswith(f"{table}.")
        unowned = "--repair" in words and table == "night_values" and damage.startswith("nights.id ")
        if gone and not (removed or replaced or thinned or unknowable or unowned):
            found.append(f"{len(gone)} rows of {table} of run {run} are lost")
    return found


def is_writing(words: list[str]) -> bool:
    """Whether a command changes what is recorded."""
    return words[:2] in (*(["runs", name] for name in ("tag", "note", "rm")), ["db", "upgrade"]) or bool(
        {"train", "eval", "--repair"} & set(words)
    )
