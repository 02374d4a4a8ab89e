"""Databases of every revision reach the newest one with all their rows."""

from __future__ import annotations

import math
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store, connection, location, upgrade
from normbench_cli.store.location import Location, parse_location
from normbench_cli.store.queries import metrics_frame, runs_frame, series
from normbench_cli.store.schema import HEAD, VERSION_TABLE, Base

OLD = Path(__file__).parent / "old"


def revisions() -> list[str]:
    return sorted(script.revision for script in ScriptDirectory.from_config(upgrade.alembic_config()).walk_revisions())


def restore(revision: str, path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / f"{revision}.sql").read_text())
    return path


def test_head_is_the_newest_of_numbered_migrations() -> None:
    assert revisions()[-1] == HEAD
    assert revisions() == [f"{number:04}" for number in range(1, len(revisions()) + 1)]


def test_the_migrations_make_the_tables_of_the_schema(store: Store) -> None:
    with store.reading() as session:
        context = MigrationContext.configure(
            session.connection(), opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_every_revision_has_an_old_database() -> None:
    assert sorted(file.stem for file in OLD.iterdir()) == revisions(), "make tests/store/old/<revision>.sql"


@pytest.mark.parametrize("revision", [file.stem for file in sorted(OLD.iterdir())])
def test_an_old_database_keeps_its_rows(revision: str, tmp_path: Path) -> None:
    place = parse_location(str(restore(revision, tmp_path / "old.db")))
    before, backup = upgrade.upgrade(place)
    assert before == revision
    assert (backup is not None) == (revision != HEAD)
    with Store.open(str(place.path), write=False) as store:
        runs = runs_frame(store).set_index("id")
        assert set(runs.index) == {"0a1b2c3d", "0a9f8e7d"}
        assert runs.loc["0a1b2c3d", ["status", "norm", "epochs", "tag"]].tolist() == [
            "finished",
            "popnorm:kappa=4",
            2,
            "old",
        ]
        assert store.latest_metrics("0a1b2c3d")["test/accuracy@gaussian"] == 0.5
        assert math.isnan(store.latest_metrics("0a9f8e7d")["train/loss"])
        assert len(metrics_frame(store, curve=True)) == 9
        assert series(store, "0a1b2c3d", "step_time_ms").tolist() == [12.0, 12.5, 13.0]
        assert store.find("0a1b").environment.facts["versions"] == {"torch": "2.9.0"}


NEXT = '''"""A revision that there may be one day."""
import sqlalchemy as sa
from alembic import op

revision = "9001"
down_revision = "{head}"


def upgrade() -> None:
    with op.batch_alter_table("runs", recreate="always") as table:
        table.add_column(sa.Column("extra", sa.String(10), nullable=False, server_default="more"))
    {then}
'''


@pytest.fixture
def tomorrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A normbench one revision on; gives a function that writes that revision."""
    folder = tmp_path / "migrations"
    shutil.copytree(upgrade.migrations_folder(), folder)
    monkeypatch.setattr(upgrade, "migrations_folder", lambda: folder)
    for module in (location, upgrade):
        monkeypatch.setattr(module, "HEAD", "9001")
    return lambda then="pass": (folder / "versions" / "9001_next.py").write_text(NEXT.format(head=HEAD, then=then))


@pytest.fixture
def today(tmp_path: Path, enter: Callable[..., Any], store: Store) -> Location:
    enter(metrics={"train/loss": 1.0})
    return store.location


def rows(path: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_an_upgrade_makes_a_backup_first_and_loses_no_row(today: Location, tomorrow: Callable[..., Any]) -> None:
    tomorrow()
    with pytest.raises(DatabaseError, match="normbench db upgrade"):
        Store.open()
    before, backup = upgrade.upgrade(today)
    assert before == HEAD
    assert rows(today.path, "SELECT extra, count(*) FROM runs JOIN metrics ON runs.id = run_id") == [("more", 1)]
    assert rows(today.path, "PRAGMA foreign_key_check") == []
    assert backup.name.startswith(f"normbench.backup-{HEAD}-")
    assert rows(backup, f"SELECT version_num, (SELECT count(*) FROM metrics) FROM {VERSION_TABLE}") == [(HEAD, 1)]
    assert upgrade.upgrade(today) == ("9001", None)


def test_an_upgrade_that_fails_changes_nothing_and_says_where_the_backup_is(
    today: Location, tomorrow: Callable[..., Any]
) -> None:
    tomorrow(then='op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(DatabaseError, match=r"changed nothing: .*nowhere.*the backup is .*normbench\.backup-"):
        upgrade.upgrade(today)
    assert rows(today.path, f"SELECT version_num FROM {VERSION_TABLE}") == [(HEAD,)]
    assert "extra" not in [name for _, name, *_ in rows(today.path, "PRAGMA table_info(runs)")]


def test_an_installed_package_has_its_migrations_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "normbench_cli"
    monkeypatch.setattr(upgrade, "__file__", str(package / "store" / "upgrade.py"))
    assert upgrade.migrations_folder() == tmp_path / "migrations"
    (package / "migrations").mkdir(parents=True)
    assert upgrade.migrations_folder() == package / "migrations"


def test_backups_never_overwrite(today: Location, tmp_path: Path) -> None:
    names = {upgrade.backup(today).name for _ in range(3)}
    assert len(names) == 3
    with pytest.raises(DatabaseError, match="exists"):
        upgrade.backup(today, today.path)
    assert upgrade.backup(today, tmp_path).parent == tmp_path
    with pytest.raises(DatabaseError, match="cannot be written"):
        upgrade.backup(today, tmp_path / "no" / "such" / "folder.db")


def test_a_backup_is_whole_while_the_database_is_written(today: Location, store: Store, tmp_path: Path) -> None:
    with store.writing() as session:
        session.connection().exec_driver_sql("UPDATE runs SET norm = 'half done'")
        copy = upgrade.backup(today, tmp_path / "copy.db")
    assert rows(copy, "SELECT norm FROM runs") == [("",)]
    assert rows(copy, "PRAGMA quick_check") == [("ok",)]


def test_engines_are_made_for_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(connection, "create_engine", lambda url, **options: made.append(url))
    connection.make_engine(parse_location("postgresql://host/name"), "mode=rw")
    assert str(made[0]) == "postgresql://host/name"
