"""Which database is meant by a path, a URL, an option, the environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.location import parse_location


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sqlite://", "does not name an SQLite file"),
        ("sqlite:///:memory:", "does not name an SQLite file"),
        ("sqlite:///file:x.db?uri=true", "does not name an SQLite file"),
        ("sqlite:///file:x.db", "does not name an SQLite file"),
        ("sqlite:///x.db?uri=true", "does not name an SQLite file"),
        ("nosuch://host/name", "no such kind of database"),
        ("://", "not a database URL"),
        ("mysql+pymysql://me:secret@host/name", "pip install pymysql"),
        ("postgresql+psycopg2://me:secret@host/name", "not the driver that normbench uses"),
        ("postgresql://me:secret@host:port/name", "not a database URL"),
        ("postgresql://me:sec@ret@host/name", "write %40"),
    ],
)
def test_an_unusable_url_is_refused_without_its_password(text: str, says: str) -> None:
    with pytest.raises(DatabaseError, match=says) as caught:
        Store.open(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://me:secret@host/name", "postgres://me@host/name"])
def test_without_psycopg_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        DatabaseError, match=r'needs the package psycopg; pip install "normbench\[postgres\]"'
    ) as caught:
        Store.open(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_url_and_a_path_lead_to_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    assert parse_location(f"sqlite:///{path}") == parse_location(str(path))


@pytest.mark.parametrize("which", ["option", "NORMBENCH_DB", "NORMBENCH_HOME"])
def test_the_database_is_created_where_the_option_or_the_environment_says(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    path = home / "normbench.db" if which == "NORMBENCH_HOME" else tmp_path / "other.db"
    if which == "NORMBENCH_DB":
        monkeypatch.setenv("NORMBENCH_DB", str(path))
    Store.open(str(path) if which == "option" else None).close()
    assert path.exists()


@pytest.mark.parametrize("text", ["~/results.db", "sqlite:///~/results.db"])
def test_a_tilde_is_the_persons_folder(text: str) -> None:
    assert parse_location(text).path == Path.home() / "results.db"


def test_a_server_is_shown_without_its_password_and_is_always_writable() -> None:
    location = parse_location("postgresql://me:secret@host/name")
    assert str(location) == "postgresql://me:***@host/name"
    assert location.url is not None
    assert location.url.password == "secret"
    assert location.path is None
    assert location.writable
    assert location.read_query == "mode=rw"
    location.ensure_writable()
    assert location.name == parse_location("postgres://me@host/name").name
    assert location.url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    ("read_only", "log", "query"),
    [
        ("nothing", "rows", "mode=rw"),
        ("file", "rows", "mode=ro"),
        ("file", "", "mode=ro&immutable=1"),
        ("file", None, "mode=ro&immutable=1"),
        ("folder", None, "mode=ro&immutable=1"),
    ],
)
def test_a_read_only_file_is_opened_without_leaving_a_trace(
    tmp_path: Path, read_only: str, log: str | None, query: str
) -> None:
    path = tmp_path / "place" / "results.db"
    path.parent.mkdir()
    path.touch()
    if log is not None:
        path.with_name("results.db-wal").write_text(log)
    if read_only == "file":
        path.chmod(0o444)
    if read_only == "folder":
        path.parent.chmod(0o555)
    location = parse_location(str(path))
    assert location.read_query == query
    assert location.writable == (read_only == "nothing")
    path.parent.chmod(0o755)


@pytest.mark.parametrize(("where", "says"), [("home", "NORMBENCH_HOME"), ("elsewhere", "--db or NORMBENCH_DB")])
def test_the_error_names_the_option_that_chose_the_folder(home: Path, tmp_path: Path, where: str, says: str) -> None:
    folder = tmp_path / where
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(NormbenchError, match=says):
        parse_location(str(folder / "results.db")).ensure_writable()
    folder.chmod(0o755)
