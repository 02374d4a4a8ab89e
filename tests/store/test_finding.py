"""Which run is found, which runs are deleted, and what opening a store does and does not do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store
from normbench_cli.store.check import check_database, lost_references
from normbench_cli.store.reservations import IN_LIMIT
from normbench_cli.store.rows import now
from normbench_cli.store.schema import HEAD, Metric, Run

Enter = Callable[..., str]
pytestmark = pytest.mark.every_database


def rename(store: Store, run_id: str, new: str) -> None:
    with store.writing() as session:
        session.execute(update(Run).where(Run.id == run_id).values(id=new))


@pytest.fixture
def run(store: Store) -> Callable[[str], str]:
    """Add a run with this id."""

    def add(run_id: str) -> str:
        rename(store, store.begin({}, run_id, {"host": "here"}, argv=[]), run_id)
        return run_id

    return add


@pytest.mark.parametrize(
    ("count", "listed"),
    [(2, "aaaa0000, aaaa0001;"), (3, "aaaa0000, aaaa0001, aaaa0002;"), (4, "aaaa0000, aaaa0001, aaaa0002 and more;")],
)
def test_up_to_three_runs_of_an_ambiguous_id_are_named(
    store: Store, run: Callable[[str], str], count: int, listed: str
) -> None:
    for number in reversed(range(count)):
        run(f"aaaa000{number}")
    with pytest.raises(NormbenchError, match=f"several runs begin with 'aaaa': {listed} give more digits"):
        store.find("aaaa")
    assert store.find(" AAAA0001 ").id == "aaaa0001"


def test_a_run_without_settings_has_empty_ones_and_no_seed(store: Store) -> None:
    found = store.find(store.begin({}, "f", {}, kind="profile", argv=["profile"]))
    assert (found.norm, found.tag, found.note, found.seed, found.message) == ("", "", "", None, "")
    assert (found.kind, found.fingerprint, found.argv) == ("profile", "f", ["profile"])
    assert found.started_at == found.heartbeat_at
    assert store.find(store.begin({"seed": 0}, "f", {}, argv=[])).kind == "train"


def test_the_end_of_a_run_is_of_that_run_alone(store: Store, enter: Enter) -> None:
    ids = [enter("running") for _ in range(3)]
    store.end(ids[1], "finished")
    assert [store.find(run_id).status for run_id in ids] == ["running", "finished", "running"]
    assert store.find(ids[1]).message == ""
    before = [store.find(run_id).heartbeat_at for run_id in ids]
    store.heartbeat(ids[0])
    after = [store.find(run_id).heartbeat_at for run_id in ids]
    assert [late > early for late, early in zip(after, before, strict=True)] == [True, False, False]


def test_several_runs_are_deleted_and_no_others(store: Store, enter: Enter) -> None:
    ids = [enter(metrics={"a": number}) for number in range(4)]
    store.delete([ids[0], ids[2]])
    assert store.count() == 2
    with store.reading() as session:
        assert session.scalars(select(Metric.value)).all() == [1, 3]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_newest_run_is_found_among_any_number_of_fingerprints(store: Store, enter: Enter, more: int) -> None:
    asked = [f"norm={number:04}" for number in range(IN_LIMIT + more)]
    last = enter(norm=f"{IN_LIMIT + more - 1:04}")
    enter(norm="other")
    assert store.newest_runs(iter(asked)) == {asked[-1]: (last, "finished")}
    assert store.newest_runs([]) == {}


@pytest.mark.parametrize(
    ("sweep", "mode", "status"), [(True, 0o644, "interrupted"), (False, 0o644, "running"), (True, 0o444, "running")]
)
def test_a_store_sweeps_when_it_is_opened_if_it_may(
    store: Store, enter: Enter, file: Path, sweep: bool, mode: int, status: str
) -> None:
    run_id = enter("running")
    with store.writing() as session:
        session.execute(update(Run).values(host="elsewhere", heartbeat_at=now() - timedelta(hours=2)))
    file.chmod(mode)
    with Store.open(write=False, sweep=sweep) as opened:
        assert opened.find(run_id).status == status


def test_the_health_of_a_database(store: Store, enter: Enter) -> None:
    dead = enter("running", metrics={"a": 1, "b": 2})
    enter(metrics={"a": 1})
    store.record(dead, {}, step=1, series={"a": [1.0]})
    with store.writing() as session:
        changed = update(Run).where(Run.id == dead)
        session.execute(changed.values(host="elsewhere", heartbeat_at=now() - timedelta(hours=2)))
    health = check_database(store)
    assert (health.version, health.problems, health.dead_runs) == (HEAD, [], [dead])
    assert {name: count for name, count in health.rows.items() if count} == {
        "environments": 1,
        "runs": 2,
        "metrics": 3,
        "samples": 1,
    }
    assert store.find(dead).status == "running"


def test_rows_of_missing_rows_are_problems_and_are_not_counted(store: Store, enter: Enter, file: Path) -> None:
    enter(metrics={"a": 1})
    with store._engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        lost = {"run_id": "gone", "split": "", "condition": "", "name": "a", "value": 1.0, "unit": ""}
        connection.execute(insert(Metric).values(**lost, recorded_at=now()))
    health = check_database(store)
    assert (
        health.problems
        == lost_references(file, "mode=rw")
        == ["row 2 of metrics points to a row of runs that is not there"]
    )
    assert (health.dead_runs, health.rows) == ([], {})
