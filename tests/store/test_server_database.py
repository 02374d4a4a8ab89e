"""A server's database as a whole: its migrations, its views, merged, exported, and what only a file can."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import text

from normbench_cli.errors import DatabaseError, UsageError
from normbench_cli.store import Store, backup, repair, upgrade
from normbench_cli.store.check import check_database
from normbench_cli.store.connection import version_of
from normbench_cli.store.export import export
from normbench_cli.store.location import parse_location
from normbench_cli.store.merge import merge
from normbench_cli.store.queries import runs_frame, series
from normbench_cli.store.schema import HEAD, VERSION_TABLE, Base
from normbench_cli.store.server import server_engine
from normbench_cli.store.space import give_back
from tests.killing import CAN_FORK, FORK
from tests.postgres import Server
from tests.store.spooling import run_in, write_all

pytestmark = pytest.mark.slow
REVISIONS = [f"{number:04}" for number in range(1, int(HEAD) + 1)]
ROW = {"id": "abcd1234", "kind": "train", "fingerprint": "f", "state": "finished", "message": "", "norm": "bn"}
MORE = "'relu', 'mlp', 'digits', 'erm', 1, '{}', '', '', '[]', now(), now(), now(), 'host', 1, 1.5, 1"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_every_revision_is_upgraded_with_its_rows(postgres_server: Server, revision: str) -> None:
    place = parse_location(postgres_server.url(postgres_server.new_database()))
    engine = server_engine(place)
    with engine.execution_options(writes="alone").connect() as connection, connection.begin():
        command.upgrade(upgrade.alembic_config(connection), revision)
        connection.execute(text("INSERT INTO environments (hash, facts) VALUES ('', '{}')"))
        columns = ", ".join([*ROW, "act, model, data, objective, seed, config, tag, note, argv, started_at"])
        columns += ", heartbeat_at, finished_at, host, pid, process_started, environment_id"
        values = ", ".join(f"'{value}'" for value in ROW.values())
        connection.execute(text(f"INSERT INTO runs ({columns}) VALUES ({values}, {MORE})"))
    if revision != HEAD:
        with pytest.raises(DatabaseError, match="normbench db upgrade"):
            Store.open(place.shown)
    assert upgrade.upgrade(place) == (revision, None)
    with Store.open(place.shown) as store, store.reading() as session:
        assert store.find("abcd").norm == "bn"
        context = MigrationContext.configure(
            session.connection(), opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_an_upgrade_that_fails_changes_nothing(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    place = parse_location(postgres_server.url(postgres_server.new_database()))

    def fail(config: Config, _revision: str) -> None:
        config.attributes["connection"].execute(text("CREATE TABLE runs (distance int)"))
        config.attributes["connection"].execute(text("no statement"))

    with monkeypatch.context() as patch:
        patch.setattr("alembic.command.upgrade", fail)
        with pytest.raises(DatabaseError, match="the upgrade failed and changed nothing"):
            upgrade.upgrade(place)
    assert version_of(place) is None
    upgrade.upgrade(place)
    assert version_of(place) == HEAD


def open_and_begin(url: str) -> None:
    with Store.open(url) as store:
        for _ in range(3):
            store.end(store.begin({}, "f", {"facts": "the same"}, argv=[]), "finished")


@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_make_and_write_one_database_at_once(postgres_server: Server) -> None:
    url = postgres_server.url(postgres_server.new_database())
    writers = [FORK.Process(target=open_and_begin, args=(url,)) for _ in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 6
    with Store.open(url) as store:
        assert store.count() == 18
        assert check_database(store).rows["environments"] == 1


def test_what_a_file_can_and_a_server_cannot_is_one_line_with_another_way(server: Store, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="pg_dump"):
        backup.backup(server.location, tmp_path / "copy.db")
    with pytest.raises(DatabaseError, match="pg_restore"):
        repair.repair(server.location.shown)
    assert give_back(server) == (0, "its server looks after its files")


def filled(store: Store) -> str:
    run_id = run_in(store)
    write_all(store, run_id)
    return run_id


def test_a_server_is_checked_and_exported(server: Store, tmp_path: Path) -> None:
    run_id = filled(server)
    health = check_database(server)
    assert (health.problems, health.rows["runs"], health.without_checkpoint) == ([], 1, [run_id])
    manifest = export(server, tmp_path / "out", "csv", series=True)
    assert manifest["files"]["metrics.csv"]["rows"] == 12
    assert manifest["files"]["series.csv"]["rows"] == 12
    assert manifest["database"] == server.location.shown


def test_a_file_is_merged_into_a_server_and_a_server_into_a_file(server: Store, tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "mine.db")) as mine:
        here = filled(mine)
    there = filled(server)
    assert merge(server, [str(tmp_path / "mine.db")])[0].added == [here]
    assert merge(server, [str(tmp_path / "mine.db")])[0].added == []
    with Store.open(str(tmp_path / "all.db")) as everything:
        assert sorted(merge(everything, [server.location.shown])[0].added) == sorted([here, there])
        for run_id in (here, there):
            expected = server.latest_metrics(run_id)
            assert repr(everything.latest_metrics(run_id)) == repr(expected)
            assert series(everything, run_id, "lr").tolist() == series(server, run_id, "lr").tolist()
        assert len(runs_frame(everything)) == 2
    with pytest.raises(UsageError, match="is the database itself"):
        merge(server, [server.location.shown])


def test_views_show_the_same(server: Store) -> None:
    run_id = server.begin({"norm": "popnorm", "lr": 0.5, "epochs": 2}, "f", {}, argv=[])
    for epoch, value in ((1, 0.1), (2, 0.2), (2, 0.3)):
        server.record(run_id, {"test/accuracy": value, "test/accuracy@bim": value / 2}, epoch=epoch, step=epoch)
    with server.reading() as session:
        (run,) = session.execute(text("SELECT * FROM v_runs")).mappings()
        assert (run["id"], run["lr"], run["epochs"], run["test_accuracy"]) == (run_id, 0.5, 2, 0.3)
        curve = session.execute(text("SELECT epoch, value FROM v_curves WHERE metric = 'test/accuracy' ORDER BY epoch"))
        assert curve.all() == [(1, 0.1), (2, 0.3)]
        latest = session.execute(text('SELECT metric, value FROM v_latest_metrics ORDER BY metric COLLATE "C"'))
        assert latest.all() == [("test/accuracy", 0.3), ("test/accuracy@bim", 0.15)]
        assert session.execute(text("SELECT * FROM v_nights")).all() == []
