"""Which database is meant by a path, a URL, an option, the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store.location import parse_location


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
def test_an_unusable_url_is_refused_without_its_password(text: str, says: str) -> None:
    with pytest.raises(DatabaseError, match=says) as caught:
        Store.open(text)
    assert "secret" not in str(caught.value)


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
