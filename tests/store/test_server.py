"""What is particular to a server: its clock, its locks, its errors, and days without it."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, text

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store, rows, statements
from normbench_cli.store import server as server_module
from normbench_cli.store._spool import recorder
from normbench_cli.store.check import check_database
from normbench_cli.store.errors import RefusedRow, Taken
from normbench_cli.store.location import parse_location
from normbench_cli.store.queries import series
from normbench_cli.store.server import connect_within
from normbench_cli.store.statements import clock
from tests.postgres import Server
from tests.store.spooling import lines, run_in, spools, write_all

pytestmark = pytest.mark.slow


@contextmanager
def unreachable(postgres: Server, store: Store) -> Iterator[None]:
    """Nobody can connect."""
    assert store.location.url is not None
    name = store.location.url.database
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    yield
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def test_of_many_who_want_a_cell_one_gets_it(server: Store) -> None:
    """They all begin at the same moment."""
    assert server.location.url is not None
    ready, got = threading.Barrier(8), list[str]()

    def take() -> None:
        with Store(server.location) as store:
            for number in range(5):
                ready.wait()
                try:
                    got.append(store.begin({}, f"cell {number}", {}, argv=[], instead_of=""))
                except Taken:
                    continue

    takers = [threading.Thread(target=take) for _ in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert len(got) == server.count() == 5


@pytest.mark.parametrize("wrong", [timedelta(hours=3), timedelta(hours=-3)], ids=str)
def test_a_machine_with_a_wrong_clock_records_heartbeats_in_the_servers_time(
    server: Store, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    def server_time() -> datetime:
        with server.reading() as session:
            return clock(session).now

    class WrongClock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + wrong

    first = server_time()
    monkeypatch.setattr(rows, "datetime", WrongClock)
    run_id = server.begin({}, "f", {}, argv=[])
    server.record(run_id, {"train/loss": 1.0})
    server.heartbeat(run_id)
    assert first < server.find(run_id).heartbeat_at < server_time()
    server.end(run_id, "finished")
    run = server.find(run_id)
    assert first < run.started_at < (run.finished_at or first) < server_time()
    assert server.dead_runs() == []


def test_json_that_a_server_refuses_is_recorded_all_the_same(server: Store) -> None:
    details = {"a": math.nan, "b": [math.inf, 1.0], "c": "\0", "d": "\udcff"}
    run_id = server.begin({}, "f", {}, argv=["\udcff"], details=details)
    server.end(run_id, "failed", "a\0b")
    run = server.find(run_id)
    assert run.details == {"a": None, "b": [None, 1.0], "c": "\0", "d": "\udcff"}
    assert (run.message, run.argv) == ("a b", ["\udcff"])


def test_a_value_that_does_not_fit_is_one_line_and_leaves_no_spool(server: Store, home: Path) -> None:
    with pytest.raises(RefusedRow, match="too long"):
        server.begin({"norm": "n" * 1000}, "f", {}, argv=[])
    run_id = run_in(server)
    with pytest.raises(RefusedRow, match="too long"):
        server.record(run_id, {"n" * 1000: 1.0})
    server.end(run_id, "finished")
    assert spools(home) == []


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("recovers", ["while it runs", "later"])
def test_a_run_goes_on_without_its_server_and_nothing_is_lost(
    postgres_server: Server, server: Store, recovers: str, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.mkdir()
    run_id = run_in(server)
    write_all(server, run_id, last=2, end=False)
    with unreachable(postgres_server, server):
        write_all(server, run_id, first=3, last=4, end=False)
        if recovers == "later":
            write_all(server, run_id, first=5)
            server.close()
        (said,) = lines(caplog)
        assert "is not currently accepting connections" in said
        assert len(spools(home)) == 1
    if recovers == "while it runs":
        write_all(server, run_id, first=5)
    with Store.open(server.location.shown) as again:
        assert again.find(run_id).status == "finished"
        assert series(again, run_id, "lr").tolist() == pytest.approx([x for n in range(1, 7) for x in (0.1, n)])
        assert check_database(again).rows["metrics"] == 12
    assert spools(home) == []


def test_a_writer_waits_for_a_row_only_so_long(server: Store, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    home.mkdir()
    monkeypatch.setattr(recorder, "LOCK_TIMEOUT", 0.1)
    run_id, other = run_in(server), run_in(server)
    with server.writing() as session:
        session.execute(text("UPDATE runs SET note = 'busy' WHERE id = :id"), {"id": run_id})
        server.record(other, {"a": 1.0})  # another row
        server.record(run_id, {"a": 1.0})
        assert len(spools(home)) == 1
    with server.writing(alone=True) as session:
        session.execute(text("SELECT 1"))
        with pytest.raises(DatabaseError, match="being written by another program"):
            Store(replace(server.location, timeout=0.1)).begin({}, "f", {}, argv=[])


def test_a_server_with_as_many_clients_as_it_takes_is_asked_again(
    postgres_server: Server, server: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(server.location.url.database) if server.location.url else ""
    postgres_server.execute("CREATE ROLE guest LOGIN")
    postgres_server.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO guest", name)
    postgres_server.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO guest", name)
    postgres_server.execute("ALTER ROLE guest CONNECTION LIMIT 1")
    guest = parse_location(postgres_server.url(name).replace("normbench@", "guest@"))
    with Store(guest) as store, store.reading() as session:
        session.execute(text("SELECT 1"))
        waiting = threading.Timer(0.5, session.rollback)
        waiting.start()
        assert store.count() == 0  # as soon as the other connection has ended
        waiting.join()
    postgres_server.execute("DROP OWNED BY guest", name)
    postgres_server.execute("DROP ROLE guest")


def test_the_pauses_before_a_busy_server_is_asked_again_grow_up_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred clients that come back every tenth of a second would keep the server busy with refusing them."""
    moment, pauses = [0.0], list[float]()

    class Busy(Exception):
        pass

    class Dialect:
        loaded_dbapi = SimpleNamespace(OperationalError=Busy)

        def connect(self) -> None:
            raise Busy("FATAL:  sorry, too many clients already")

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        moment[0] += seconds

    monkeypatch.setattr(server_module, "time", SimpleNamespace(monotonic=lambda: moment[0], sleep=sleep))
    with pytest.raises(Busy):
        connect_within(30.0)(Dialect(), None, (), {})
    assert sum(pauses) == pytest.approx(30.0)
    assert max(pauses[:2]) < 0.2 < min(pauses[5:-1])
    assert len(pauses) < 80


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda url: url.replace("pass-of", "pass-off"), r"password authentication failed.*; check the user"),
        (lambda url: url + "_none", r"does not exist; make an empty one with `createdb`"),
        (
            lambda url: url.replace(":" + url.rsplit(":")[-1].split("/")[0], ":1"),
            r"; check the URL, and that its server",
        ),
    ],
    ids=["password", "name", "port"],
)
def test_errors_of_a_server_are_one_line_with_what_to_do(
    postgres_server: Server, change: Callable[[str], str], says: str
) -> None:
    with pytest.raises(DatabaseError, match=says) as error:
        Store.open(change(postgres_server.loopback_url("postgres")))
    assert "pass-of" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_password_is_asked_for_and_used(postgres_server: Server, server: Store, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    assert server.location.url is not None
    with Store.open(postgres_server.loopback_url(str(server.location.url.database))) as store:
        assert store.count() == 0
        assert "***" in store.location.shown
    assert "pass-of" not in caplog.text


def test_a_server_that_was_down_has_heard_nobody(server: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = run_in(server)
    with server.writing() as session:
        silent = "UPDATE runs SET host = 'elsewhere', heartbeat_at = heartbeat_at - interval '2 hours'"
        session.execute(text(silent))
    monkeypatch.setattr(statements, "LISTENING_SINCE", func.statement_timestamp())
    assert server.dead_runs() == []
    monkeypatch.setattr(statements, "LISTENING_SINCE", func.to_timestamp(0))
    assert [run.id for run in server.dead_runs()] == [run_id]
