"""Upgrades while others read and write, on a full disk, in a read-only folder, at a path with odd characters."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.location import parse_location
from normbench_cli.store.schema import HEAD
from normbench_cli.store.upgrade import upgrade
from tests.faults import largest_file
from tests.store.old_databases import FIRST, backups, contents, make_first, old_columns, version

ONE_MORE = """INSERT INTO metrics SELECT NULL, run_id, epoch, ?, split, condition, name, 0.5, unit, recorded_at
    FROM metrics WHERE id = 1"""
FULL = r"\A.*(could not|cannot) be written.*\Z"  # one line
NAMES = ["a b.db", "50%.db", "%20.db", "what?mode=ro.db", "#1.db", "ü\n'\";x.db", "a&b=c.db", "no suffix", "🙂.db"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return make_first(tmp_path / "old.db", metrics=100)


def test_a_reader_keeps_what_it_reads_during_an_upgrade(old: Path) -> None:
    with closing(sqlite3.connect(old)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM metrics").fetchall()
        assert upgrade(parse_location(str(old)))[0] == FIRST
        assert reader.execute("SELECT count(*) FROM metrics").fetchall() == before
        assert [name for _, name, *_ in reader.execute("PRAGMA table_info(runs)")][-1] == "environment_id"
    assert version(old) == HEAD


def test_rows_that_an_older_program_writes_during_an_upgrade_are_kept(old: Path) -> None:
    written, done = list[int](), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(old, timeout=30, isolation_level=None)) as connection:
            while not done.is_set() or len(written) < 50:
                connection.execute(ONE_MORE, [10_000 + len(written)])
                written.append(10_000 + len(written))
                time.sleep(0.002)  # SQLite's lock is not fair: a writer that never pauses shuts out all others

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert upgrade(parse_location(str(old)))[0] == FIRST
    finally:
        done.set()
        thread.join()
    with closing(sqlite3.connect(old)) as connection:
        found = connection.execute("SELECT step FROM metrics WHERE step >= 10000 ORDER BY id").fetchall()
    assert [step for (step,) in found] == written
    assert version(old) == HEAD


def test_an_upgrade_waits_for_a_writer_only_so_long(old: Path) -> None:
    place = replace(parse_location(str(old)), timeout=0.05)
    before = contents(old, columns := old_columns(old))
    with closing(sqlite3.connect(old, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError, match=r"changed nothing: .* is being written by another program.*the backup"):
            upgrade(place)
    assert version(old) == FIRST
    assert upgrade(place)[0] == FIRST
    assert contents(old, columns) == before


def test_an_upgrade_on_a_full_disk_changes_nothing_and_leaves_no_half_backup(old: Path) -> None:
    before, size = contents(old, columns := old_columns(old)), old.stat().st_size
    for limit in (100, size // 2, size, size + 8192, size + 40_000):
        with (
            largest_file(limit),
            suppress(DatabaseError) if limit >= size else pytest.raises(NormbenchError, match=FULL),
        ):
            upgrade(parse_location(str(old)))
        assert version(old) in (FIRST, HEAD)
        assert contents(old, columns) == before
        assert all(contents(copy, columns) == before for copy in backups(old)), limit
        assert not list(old.parent.glob("*.writing*"))
    upgrade(parse_location(str(old)))
    assert version(old) == HEAD
    assert contents(old, columns) == before


def test_an_upgrade_in_a_folder_that_is_only_read_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    path = make_first(folder / "old.db")
    content = path.read_bytes()
    folder.chmod(0o555)
    try:
        with pytest.raises(NormbenchError, match=r"the folder .*kept is not writable; set --db or NORMBENCH_DB"):
            upgrade(parse_location(str(path)))
        assert [item.name for item in folder.iterdir()] == ["old.db"]
        assert path.read_bytes() == content
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_may_have_any_characters(name: str, tmp_path: Path) -> None:
    path = make_first(tmp_path / name)
    before = contents(path, columns := old_columns(path))
    found, backup = upgrade(parse_location(str(path)))
    assert found == FIRST
    assert backup is not None
    assert contents(backup, columns) == contents(path, columns) == before
    with Store.open(str(path), write=False, sweep=False) as store:
        assert store.count() == len(before["runs"])
    assert {item.name for item in tmp_path.iterdir() if item.is_file()} == {path.name, backup.name}
