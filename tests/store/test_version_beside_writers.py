"""The schema version is read under SQLite's lock: what another process writes meanwhile does not count as damage."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import sqlite_file
from normbench_cli.store.connection import version_of
from normbench_cli.store.location import parse_location
from normbench_cli.store.sqlite_file import connect, log_of
from tests.store.old_databases import FIRST, make_first


def test_a_file_that_another_process_has_locked_is_not_read(tmp_path: Path) -> None:
    path = make_first(tmp_path / "normbench.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA locking_mode = EXCLUSIVE")
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DatabaseError, match="is being written by another program"):
            version_of(replace(parse_location(str(path)), timeout=0.05))


def test_a_log_that_appears_and_is_half_copied_before_the_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_first(tmp_path / "normbench.db")
    old = path.read_bytes()
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE large AS SELECT zeroblob(50000)")
        writer.commit()
        log = log_of(path).read_bytes()
    new = path.read_bytes()
    assert len(new) > len(old)

    for end in range(0, len(new), 4096):

        def copy_until(*args: object, end: int = end) -> sqlite3.Connection:
            path.write_bytes(new[:end] + old[end:])
            log_of(path).write_bytes(log)
            return connect(*args)  # type: ignore[arg-type]

        path.write_bytes(old)
        log_of(path).unlink(missing_ok=True)
        monkeypatch.setattr(sqlite_file, "connect", copy_until)
        assert version_of(parse_location(str(path))) == FIRST
