"""What a database file may turn out to be: each case is one line of error, and the file is left as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.schema import HEAD
from normbench_cli.store.sqlite_file import (
    OPEN_FILES,
    PAGE_COUNT,
    VERSION_VALID_FOR,
    file_version,
    has_log,
    hold_open,
    log_of,
)


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def foreign(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE notes (text)")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def noise(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * (path.stat().st_size - 100))


def set_version(version: str) -> Callable[[Path], object]:
    return lambda path: execute(path, f"UPDATE normbench_schema_version SET version_num = '{version}'")


SPOIL: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_text("no database at all\n" * 100), "is not a database"),
    "short": (lambda path: path.write_bytes(b"SQLite format 3\0\x10\0"), "truncated"),
    "one byte": (lambda path: path.write_bytes(b"S"), "is not a database"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "truncated"),
    "last byte": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "truncated"),
    "noise": (noise, "cannot be read"),
    "newer": (set_version("9999"), "upgrade normbench"),
    "older": (set_version("0000"), "normbench db upgrade"),
    "unversioned": (lambda path: execute(path, "DELETE FROM normbench_schema_version"), "0 schema versions"),
    "foreign": (foreign, "another program"),
    "folder": (folder, "is a folder"),
    "read-only": (lambda path: path.chmod(0o444), "is read-only"),
    "read-only folder": (lambda path: path.parent.chmod(0o555), "is not writable"),
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    parent = tmp_path / "place"
    with Store.open(str(parent / "results.db")) as store:
        store.begin({"norm": "bn"}, "f", {}, argv=[])
    yield parent / "results.db"
    parent.chmod(0o755)


def contents(path: Path) -> dict[str, bytes | None]:
    return {file.name: file.read_bytes() if file.is_file() else None for file in path.parent.iterdir()}


def recorded_norm(store: Store) -> str:
    with store.reading() as session:
        return str(session.connection().exec_driver_sql("SELECT norm FROM runs").scalar_one())


@pytest.mark.parametrize("name", SPOIL)
def test_an_unusable_database_is_one_line_of_error_and_left_as_it_is(path: Path, name: str) -> None:
    spoil, says = SPOIL[name]
    spoil(path)
    before = contents(path)
    with pytest.raises(NormbenchError, match=says) as caught:
        Store.open(str(path))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 1
    if not name.startswith("read-only"):
        with pytest.raises(DatabaseError, match=says):
            Store.open(str(path), write=False)
    assert contents(path) == before


@pytest.mark.parametrize("read_only", ["file", "folder"])
def test_a_reader_can_read_a_read_only_database(path: Path, read_only: str) -> None:
    path.chmod(0o444) if read_only == "file" else path.parent.chmod(0o555)
    before = contents(path)
    with Store.open(str(path), write=False) as store:
        assert recorded_norm(store) == "bn"
    assert contents(path) == before


def test_a_reader_of_a_read_only_database_sees_rows_that_are_still_in_the_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE runs SET norm = 'newer'")
        writer.commit()
        path.chmod(0o444)
        with Store.open(str(path), write=False) as store:
            assert recorded_norm(store) == "newer"


def test_a_file_whose_last_pages_are_in_the_log_is_not_taken_for_truncated(path: Path) -> None:
    """During a checkpoint the header may count pages that are not in the file yet."""
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE runs SET note = hex(randomblob(100000))")
        writer.commit()
        with Store.open(str(copy), write=False) as store:
            assert recorded_norm(store) == "bn"
        assert copy.stat().st_size < 150_000


def test_a_missing_database_is_created_with_its_folders_but_not_by_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b%20 ?#" / "results.db"
    with pytest.raises(NoDatabase, match="normbench train"):
        Store.open(str(path), write=False)
    with pytest.raises(NoDatabase, match="normbench train"):
        Store.open(str(path), create=False)
    assert not (tmp_path / "a").exists()
    Store.open(str(path)).close()
    assert [file.name for file in path.parent.iterdir()] == ["results.db"]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    assert file_version(path) is None
    Store.open(str(path)).close()
    assert file_version(path) == HEAD
    with Store.open(str(path), write=False) as store:
        assert store.count() == 0


def test_sync_waits_for_the_log_if_there_is_one(
    store: Store, enter: Callable[..., str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    with store.hold_open():
        enter()
        log = log_of(file).stat().st_ino
        store.sync()
        assert synced == [log]
    assert not has_log(file)
    store.sync()
    assert synced == [log]


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
@pytest.mark.parametrize(("missing", "truncated"), [(0, False), (1, True)])
def test_a_file_is_as_long_as_its_header_says_for_every_page_size(
    tmp_path: Path, page_size: int, missing: int, truncated: bool
) -> None:
    path = tmp_path / "pages.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE notes (text)")
    os.truncate(path, path.stat().st_size - missing)
    with pytest.raises(DatabaseError, match="truncated: .* of " if truncated else "another program"):
        file_version(path)


def test_the_page_count_of_an_old_sqlite_is_not_trusted(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[PAGE_COUNT] = (10**6).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(DatabaseError, match="truncated"):
        file_version(path)
    content[VERSION_VALID_FOR] = bytes(4)  # SQLite itself then goes by the file's size
    path.write_bytes(content)
    assert file_version(path) == HEAD


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DatabaseError, match="not a regular file"):
        file_version(tmp_path / "pipe")


def test_a_file_is_listed_as_open_only_while_it_is(path: Path) -> None:
    with hold_open(path), hold_open(path):
        assert [path.resolve()] * 2 == OPEN_FILES
    assert OPEN_FILES == []


def test_a_file_that_ends_within_its_header_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "normbench.db"
    path.write_bytes(b"SQLite format 3\0".ljust(99, b"\0"))
    with pytest.raises(DatabaseError, match="is truncated: 99 of"):
        file_version(path)
