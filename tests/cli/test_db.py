"""normbench db: upgrade, check, backup, path."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.store.schema import HEAD
from tests.support import RunCommand


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_upgrade_creates_a_database_and_then_has_nothing_to_do(normbench: RunCommand, home: Path) -> None:
    assert f"made {home / 'normbench.db'} (schema {HEAD})" in normbench("db", "upgrade").out
    assert "up to date" in normbench("db", "upgrade").out
    assert json.loads(normbench("db", "upgrade", "--json").out) == {
        "database": str(home / "normbench.db"), "from": HEAD, "to": HEAD, "backup": None
    }  # fmt: skip
    assert [file.name for file in home.iterdir()] == ["normbench.db"]


@pytest.mark.parametrize(
    ("content", "says"), [("nothing like it", "not a database"), (None, "is a folder")], ids=["text", "folder"]
)
@pytest.mark.parametrize("command", ["upgrade", "check", "backup"])
def test_a_file_that_is_no_database_is_left_unchanged(
    normbench: RunCommand, tmp_path: Path, command: str, content: str | None, says: str
) -> None:
    place = tmp_path / "place"
    place.write_text(content) if content else place.mkdir()
    ended = normbench("db", command, "--db", str(place))
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert says in ended.err
    assert [file.name for file in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("command", ["check", "backup"])
def test_a_missing_database_is_an_error_and_is_not_created(normbench: RunCommand, home: Path, command: str) -> None:
    ended = normbench("db", command)
    assert (ended.code, ended.out) == (1, "")
    assert "no database" in ended.err
    assert not home.exists()


def test_check_of_a_sound_database(normbench: RunCommand, enter: Callable[..., Any]) -> None:
    enter(0.5, 0.6)
    ended = normbench("db", "check")
    assert (ended.code, ended.err) == (0, "")
    for words in (f"schema {HEAD}", "1 runs", "4 metrics", "sound"):
        assert words in ended.out
    assert json.loads(normbench("db", "check", "--json").out)["ok"] is True


def test_check_finds_rows_of_missing_runs(normbench: RunCommand, enter: Callable[..., Any], home: Path) -> None:
    enter(0.5)
    change(home / "normbench.db", "UPDATE metrics SET run_id = 'nowhere'")
    ended = normbench("db", "check")
    assert ended.code == 1
    assert "points to a row of runs" in ended.out
    assert json.loads(normbench("db", "check", "--json").out)["ok"] is False


def test_check_finds_damage(normbench: RunCommand, enter: Callable[..., Any], home: Path) -> None:
    enter(*[0.5] * 50)
    path = home / "normbench.db"
    content = bytearray(path.read_bytes())
    content[-8192:-4096] = b"\xff" * 4096
    path.write_bytes(content)
    ended = normbench("db", "check")
    assert ended.code == 1
    assert "problem" in ended.out or "cannot be" in ended.err
    assert "Traceback" not in ended.err


def test_check_names_runs_whose_process_is_gone_and_changes_nothing(
    normbench: RunCommand, enter: Callable[..., Any], home: Path
) -> None:
    run_id = enter(0.5, status="running")
    change(home / "normbench.db", "UPDATE runs SET pid = 4194305, heartbeat_at = '2026-01-01 00:00:00.000000'")
    for _ in range(2):
        ended = normbench("db", "check")
        assert ended.code == 0
        assert f"run {run_id} is marked running but its process is gone" in ended.out
    assert "interrupted" in normbench("runs", "list").out
    assert "marked running" not in normbench("db", "check").out


def test_backup_goes_beside_the_database_or_to_a_given_file(
    normbench: RunCommand, enter: Callable[..., Any], home: Path, tmp_path: Path
) -> None:
    enter(0.5)
    made = normbench("db", "backup").out.strip()
    assert made.startswith(str(home / "normbench.backup-"))
    assert normbench("db", "backup", "copy.db").out == "copy.db\n"
    ended = normbench("db", "backup", "copy.db")
    assert (ended.code, ended.out) == (1, "")
    assert "copy.db exists" in ended.err
    for copy in (made, "copy.db"):
        assert "1 runs" in normbench("db", "check", "--db", copy).out


def test_path(normbench: RunCommand, home: Path, tmp_path: Path) -> None:
    assert normbench("db", "path").out == f"{home / 'normbench.db'}\n"
    assert json.loads(normbench("db", "path", "--json", "--db", "x.db").out) == {
        "database": str(tmp_path / "x.db"), "exists": False
    }  # fmt: skip
    assert normbench("db", "path", "--db", "postgresql://me:secret@host/name").out == "postgresql://me:***@host/name\n"


def test_the_error_of_an_older_database_names_the_upgrade_command(
    normbench: RunCommand, enter: Callable[..., Any], home: Path
) -> None:
    enter(0.5)
    change(home / "normbench.db", "UPDATE normbench_schema_version SET version_num = '0000'")
    ended = normbench("report")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "`normbench db upgrade`" in ended.err
