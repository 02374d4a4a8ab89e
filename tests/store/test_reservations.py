"""One process at a time has a cell; what it leaves unfinished is free for others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import update

from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.processes import SILENCE
from normbench_cli.store.reservations import reservations
from normbench_cli.store.rows import now
from normbench_cli.store.schema import Run
from normbench_cli.store.statements import clock

Enter = Callable[..., str]
pytestmark = pytest.mark.every_database
CELL = "norm=bn"


def begin(store: Store, instead_of: str | None = "") -> str:
    return store.begin({"norm": "bn"}, CELL, {}, argv=[], instead_of=instead_of)


@pytest.mark.parametrize("status", ["running", "finished", "diverged", "failed"])
def test_a_cell_that_another_has_or_has_made_is_refused(store: Store, enter: Enter, status: str) -> None:
    run_id = enter(status, norm="bn")
    with pytest.raises(Taken, match=f"run {run_id} of the same cell is {status}") as error:
        begin(store)
    assert error.value.fingerprint == CELL
    assert store.count() == 1
    assert begin(store, instead_of=None)  # nothing is reserved


def test_a_cell_that_was_interrupted_is_free(store: Store, enter: Enter) -> None:
    enter("interrupted", norm="bn")
    assert store.find(begin(store)).status == "running"


@pytest.mark.parametrize("status", ["finished", "failed"])
def test_the_run_that_was_known_may_be_made_again_once(store: Store, enter: Enter, status: str) -> None:
    if status == "finished":
        enter("finished", norm="bn")  # an older one
    known = enter(status, norm="bn")
    store.end(begin(store, known), "finished")
    with pytest.raises(Taken, match="is finished"):
        begin(store, known)


def test_a_run_whose_machine_is_silent_holds_no_cell(store: Store, enter: Enter) -> None:
    run_id = enter("running", norm="bn")
    for silent, free in ((SILENCE - timedelta(minutes=1), False), (SILENCE + timedelta(minutes=1), True)):
        with store.writing() as session:
            elsewhere = {"host": "elsewhere", "heartbeat_at": clock(session).now - silent}
            session.execute(update(Run).values(**elsewhere))
        with store.reading() as session:
            held = reservations(session, {CELL: "", "another": ""})
        assert [run.id for run in held.values()] == ([] if free else [run_id])


def test_the_same_run_is_resumed_by_one_process(store: Store, enter: Enter) -> None:
    run_id = enter("interrupted")
    store.reopen(run_id, 0)
    with pytest.raises(Taken, match="already being resumed"):
        store.reopen(run_id, 0)


def test_passwords_of_urls_are_not_recorded(store: Store) -> None:
    run_id = store.begin({}, "f", {}, argv=["train", "--db", "postgresql://me:se@cret@host/name"])
    assert store.find(run_id).argv == ["train", "--db", "postgresql://me:***@host/name"]


def test_a_moment_in_the_past_stays_in_the_past(store: Store, enter: Enter) -> None:
    run_id = enter("running")
    with store.writing() as session:
        before = clock(session).now
    store.end(run_id, "finished")
    assert timedelta(0) <= store.find(run_id).heartbeat_at - before < timedelta(seconds=30)
    assert abs(before - now()) < timedelta(seconds=30)
