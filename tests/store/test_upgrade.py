"""Migrations: numbered, equal to the schema, all or nothing, after a backup."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store, upgrade, versions
from normbench_cli.store.connection import make_engine
from normbench_cli.store.location import Location, parse_location
from normbench_cli.store.repair import repair
from normbench_cli.store.schema import HEAD, VERSION_TABLE, Base
from normbench_cli.store.sqlite_file import BUSY_SECONDS
from tests import migrated
from tests.editing import change
from tests.editing import query as ask
from tests.store.old_databases import make_first

Rows = Callable[[Path, str], list[tuple[Any, ...]]]

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
def next_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """A normbench one revision later; gives a function that writes that revision."""
    folder = tmp_path / "migrations"
    shutil.copytree(upgrade.migrations_folder(), folder)
    monkeypatch.setattr(upgrade, "migrations_folder", lambda: folder)
    for module in (versions, upgrade):
        monkeypatch.setattr(module, "HEAD", "9001")
    return lambda then="pass": (folder / "versions" / "9001_next.py").write_text(NEXT.format(head=HEAD, then=then))


@pytest.fixture
def present(enter: Callable[..., str], store: Store) -> Location:
    """A database of the present revision, with a run."""
    enter(metrics={"train/loss": 1.0})
    return store.location


def test_head_is_the_newest_of_the_numbered_migrations() -> None:
    scripts = ScriptDirectory.from_config(upgrade.alembic_config()).walk_revisions()
    revisions = sorted(script.revision for script in scripts)
    assert revisions[-1] == HEAD
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]


@pytest.mark.every_database
def test_the_migrations_make_the_tables_of_the_schema(store: Store) -> None:
    with store.reading() as session:
        context = MigrationContext.configure(
            session.connection(), opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_the_databases_of_tests_are_those_that_the_migrations_make(
    store: Store, file: Path, tmp_path: Path, rows: Rows
) -> None:
    engine = make_engine(parse_location(str(tmp_path / "migrated.db")), "mode=rwc")
    migrated.migrate(engine)
    engine.dispose()
    for query in (
        "SELECT type, name, tbl_name, sql FROM sqlite_master",
        f"SELECT * FROM {VERSION_TABLE}",
        "PRAGMA journal_mode",
    ):
        assert rows(file, query) == rows(tmp_path / "migrated.db", query)


def test_an_upgrade_makes_a_backup_first_and_loses_no_row(
    present: Location, file: Path, next_revision: Callable[..., object], rows: Rows
) -> None:
    next_revision()
    with pytest.raises(DatabaseError, match="normbench db upgrade"):
        Store.open()
    before, backup = upgrade.upgrade(present)
    assert before == HEAD
    assert backup is not None
    assert rows(file, "SELECT extra, count(*) FROM runs JOIN metrics ON runs.id = run_id") == [("more", 1)]
    assert rows(file, "PRAGMA foreign_key_check") == []
    assert backup.name.startswith(f"normbench.backup-{HEAD}-")
    assert rows(backup, f"SELECT version_num, (SELECT count(*) FROM metrics) FROM {VERSION_TABLE}") == [(HEAD, 1)]
    assert upgrade.upgrade(present) == ("9001", None)


def test_an_upgrade_that_fails_changes_nothing_and_names_the_backup(
    present: Location, file: Path, next_revision: Callable[..., object], rows: Rows
) -> None:
    next_revision(then='op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(DatabaseError, match=r"changed nothing: .*nowhere.*the backup is .*normbench\.backup-"):
        upgrade.upgrade(present)
    assert rows(file, f"SELECT version_num FROM {VERSION_TABLE}") == [(HEAD,)]
    assert "extra" not in [name for _, name, *_ in rows(file, "PRAGMA table_info(runs)")]


def test_an_installed_package_has_its_migrations_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "normbench_cli"
    monkeypatch.setattr(upgrade, "__file__", str(package / "store" / "upgrade.py"))
    assert upgrade.migrations_folder() == tmp_path / "migrations"
    (package / "migrations").mkdir(parents=True)
    assert upgrade.migrations_folder() == package / "migrations"


def test_an_upgrade_that_loses_rows_is_refused(
    present: Location, file: Path, next_revision: Callable[..., object], rows: Rows
) -> None:
    next_revision(then='op.execute("DELETE FROM runs")')
    with pytest.raises(DatabaseError, match="changed nothing: 1 rows would refer to rows that are not there"):
        upgrade.upgrade(present)
    assert rows(file, "SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize(
    ("errors", "attempts"),
    [
        ([], 1),
        (["database is locked"] * 3, 4),
        (["database is locked"] * 9, 5),  # the last attempt is the first one after the time limit
        (["disk I/O error"], 1),
        (["database is locked", "disk I/O error"], 2),
    ],
    ids=str,
)
def test_the_switch_to_a_log_waits_for_a_locked_file_and_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, errors: list[str], attempts: int
) -> None:
    clock = Mock(monotonic=Mock(side_effect=[second * BUSY_SECONDS / 4 for second in range(20)]))
    monkeypatch.setattr(upgrade, "time", clock)
    failures = [sqlite3.OperationalError(text) for text in errors]
    connection = Mock(execute=Mock(side_effect=[*failures, None]))
    if attempts <= len(errors):
        with pytest.raises(sqlite3.OperationalError, match=errors[attempts - 1]):
            upgrade.enable_log(connection)
    else:
        upgrade.enable_log(connection)
    assert connection.execute.call_args_list == [call("PRAGMA journal_mode = WAL")] * attempts
    assert clock.sleep.call_count == attempts - 1
    assert all(0 < wait.args[0] < 1 for wait in clock.sleep.call_args_list)


def test_a_reference_to_a_missing_row_does_not_stop_an_upgrade_and_is_repaired_after_it(tmp_path: Path) -> None:
    path = make_first(tmp_path / "normbench.db")
    change(path, "UPDATE metrics SET run_id = 'missing' WHERE id = 1")
    upgrade.upgrade(parse_location(str(path)))
    assert ask(path, "SELECT parent FROM pragma_foreign_key_check") == [("runs",)]
    assert repair(str(path)).health.problems == []
