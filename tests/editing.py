"""Changing and reading a database file behind the program's back, and the files beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from normbench_cli import paths


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def query(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def end_in_2020(home: Path, *run_ids: str) -> None:
    for run_id in run_ids:
        change(home / "normbench.db", "UPDATE runs SET finished_at = '2020-01-01 00:00:00.000000' WHERE id = ?", run_id)


def add_checkpoint(run_id: str, step: int = 5) -> Path:
    folder = paths.run_folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:09d}.pt"
    path.write_bytes(b"x" * 1000)
    return path
