"""What may stand where the database should be; nothing of it is changed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.location import NoDatabase, parse_location


def say(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


SPOIL = {
    "text": (lambda path: path.write_text("no database at all\n" * 100), "is not a database"),
    "short": (lambda path: path.write_bytes(b"SQLite format 3\0\x10\0"), "truncated"),
    "one byte": (lambda path: path.write_bytes(b"S"), "is not a database"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "truncated"),
    "last byte": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "truncated"),
    "noise": (
        lambda path: path.write_bytes(path.read_bytes()[:100] + b"\xff" * (path.stat().st_size - 100)),
        "cannot be read",
    ),
    "newer": (lambda path: say(path, "UPDATE normbench_schema_version SET version_num = '9999'"), "upgrade normbench"),
    "older": (
        lambda path: say(path, "UPDATE normbench_schema_version SET version_num = '0000'"),
        "normbench db upgrade",
    ),
    "unversioned": (lambda path: say(path, "DELETE FROM normbench_schema_version"), "0 schema versions"),
    "foreign": (lambda path: (path.unlink(), say(path, "CREATE TABLE notes (text)")), "another program"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    "read-only": (lambda path: path.chmod(0o444), "is read-only"),
    "read-only folder": (lambda path: path.parent.chmod(0o555), "is not writable"),
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "place"
    with Store.open(str(folder / "results.db")) as store:
        store.begin({"norm": "bn"}, "f", {}, argv=[])
    yield folder / "results.db"
    folder.chmod(0o755)


def contents(path: Path) -> dict[str, bytes | None]:
    return {file.name: file.read_bytes() if file.is_file() else None for file in path.parent.iterdir()}


@pytest.mark.parametrize("name", SPOIL)
def test_what_cannot_be_used_is_said_in_one_line_and_left_as_it_is(path: Path, name: str) -> None:
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


@pytest.mark.parametrize("protect", [lambda path: path.chmod(0o444), lambda path: path.parent.chmod(0o555)])
def test_a_reader_reads_what_it_may_not_write(path: Path, protect: Callable[..., Any]) -> None:
    protect(path)
    before = contents(path)
    with Store.open(str(path), write=False) as store, store.reading() as session:
        assert session.connection().exec_driver_sql("SELECT norm FROM runs").scalar_one() == "bn"
    assert contents(path) == before


def test_a_reader_of_a_read_only_database_sees_what_is_still_in_its_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("UPDATE runs SET norm = 'newer'")
        writer.commit()
        path.chmod(0o444)
        with Store.open(str(path), write=False) as store, store.reading() as session:
            assert session.connection().exec_driver_sql("SELECT norm FROM runs").scalar_one() == "newer"


def test_a_file_that_grows_in_its_log_is_not_truncated(path: Path) -> None:
    """While it is moved over from the log, the first page may count pages that are still to come."""
    shutil.copy(path, path.with_name("copy.db"))
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(copy)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE runs SET note = hex(randomblob(50000))")
        writer.commit()
        with Store.open(str(copy), write=False) as store:
            assert len(store.location.path.read_bytes()) < 100_000


def test_a_missing_database_is_made_with_its_folders_but_not_by_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b%20 ?#" / "results.db"
    for options in ({"write": False}, {"create": False}):
        with pytest.raises(NoDatabase, match="normbench train"):
            Store.open(str(path), **options)
    assert not (tmp_path / "a").exists()
    Store.open(str(path)).close()
    assert [file.name for file in path.parent.iterdir()] == ["results.db"]


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    Store.open(str(tmp_path / "empty.db")).close()
    Store.open(str(tmp_path / "empty.db"), write=False).close()


def test_a_write_ahead_log_is_used_and_foreign_keys_hold(store: Store) -> None:
    with store.reading() as session:
        pragma = session.connection().exec_driver_sql
        assert pragma("PRAGMA journal_mode").scalar_one() == "wal"
        assert pragma("PRAGMA foreign_keys").scalar_one() == 1
        assert pragma("PRAGMA busy_timeout").scalar_one() == 30_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sqlite://", "does not name an SQLite file"),
        ("sqlite:///:memory:", "does not name an SQLite file"),
        ("sqlite:///file:x.db?uri=true", "does not name an SQLite file"),
        ("nosuch://host/name", "no such kind of database"),
        ("://", "not a database URL"),
        ("mysql+pymysql://me:secret@host/name", "pip install pymysql"),
    ],
)
def test_a_wrong_url_is_said(text: str, says: str) -> None:
    with pytest.raises(DatabaseError, match=says) as caught:
        Store.open(text)
    assert "secret" not in str(caught.value)


def test_a_url_and_a_path_lead_to_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    assert parse_location(f"sqlite:///{path}") == parse_location(str(path))


@pytest.mark.parametrize("which", ["option", "NORMBENCH_DB", "NORMBENCH_HOME"])
def test_the_database_is_where_it_is_said_to_be(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    path = home / "normbench.db" if which == "NORMBENCH_HOME" else tmp_path / "other.db"
    if which == "NORMBENCH_DB":
        monkeypatch.setenv("NORMBENCH_DB", str(path))
    Store.open(str(path) if which == "option" else None).close()
    assert path.exists()
