"""Several launchers share a grid: each cell is executed once, and what a killed one leaves by the others."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli.experiments.events import Event, Notice, RunStarted
from normbench_cli.experiments.sharing import Shared
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame
from tests.killing import CAN_FORK, start

CELLS = 40
GRID = ["--norm", "batchnorm,none", "--seeds", f"0-{CELLS // 2 - 1}", "--data", "digits:size=8", "--model", "mlp"]
GRID += ["--iterations", "5", "--batch-size", "64"]


@dataclass(frozen=True)
class Cell:
    fingerprint: str
    run_id: str = ""
    status: str = "new"


def begin(store: Store, fingerprint: str, status: str = "running") -> str:
    """A run of this process, which counts as another's."""
    run_id = store.begin({}, fingerprint, {}, argv=[])
    if status != "running":
        store.end(run_id, status)
    return run_id


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture
def at_the_first_look(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Something that happens while a launcher waits for the first time."""

    def happens(what: Callable[[], object]) -> None:
        waits = iter([what])
        forever = partial(pytest.fail, "it waits for ever")
        clock = SimpleNamespace(sleep=lambda _: next(waits, forever)())  # others may sleep meanwhile
        monkeypatch.setattr("normbench_cli.experiments.sharing.time", clock)

    return happens


def taken(shared: Shared[Cell]) -> list[tuple[str, str]]:
    return [(cell.fingerprint, other.status if other else "") for cell, other in shared]


def test_a_launcher_alone_takes_the_cells_as_they_are_listed(store: Store) -> None:
    cells = [Cell(f"c{number}") for number in range(5)]
    assert taken(Shared(cells, store, print)) == [(cell.fingerprint, "") for cell in cells]


def test_cells_of_others_are_left_to_them_and_waited_for_last(
    store: Store, at_the_first_look: Callable[[Callable[[], object]], None]
) -> None:
    for status in ("finished", "failed", "interrupted"):
        begin(store, status, status)
    going_on, said = begin(store, "running"), list[Event]()
    at_the_first_look(lambda: store.end(going_on, "diverged"))
    cells = map(Cell, ("running", "finished", "failed", "interrupted", "free"))
    found = taken(Shared(cells, store, said.append))
    assert dict(found) == {
        "running": "diverged", "finished": "finished", "failed": "failed", "interrupted": "", "free": "",
    }  # fmt: skip
    assert found[-1] == ("running", "diverged")
    assert said == [Notice("waiting for 1 cell that other processes execute")]


def test_a_cell_whose_run_was_interrupted_meanwhile_is_taken(
    store: Store, at_the_first_look: Callable[[Callable[[], object]], None]
) -> None:
    going_on = begin(store, "a")
    at_the_first_look(lambda: store.end(going_on, "interrupted"))
    assert taken(Shared([Cell("a")], store, print)) == [("a", "")]


def test_a_cell_that_is_put_back_is_found_under_the_name_that_it_has_by_now(store: Store) -> None:
    begin(store, "with data", "finished")
    shared = Shared([Cell("without data")], store, print)
    offered = iter(shared)
    cell, other = next(offered)
    assert other is None
    shared.put_back(cell, "with data")
    assert [other.status for _, other in offered if other] == ["finished"]


@pytest.mark.parametrize("status", ["finished", "failed"])
def test_runs_that_were_known_before_are_made_again(store: Store, status: str) -> None:
    known = begin(store, "a", status)
    assert taken(Shared([Cell("a", known, status)], store, print)) == [("a", "")]


def test_a_grid_gives_the_results_of_others_in_its_own_order(
    tiny: dict[str, Any], store: Store, at_the_first_look: Callable[[Callable[[], object]], None]
) -> None:
    tiny |= {"epochs": None, "iterations": 1}
    (first,) = nb.train(norm="batchnorm", **tiny)
    with store.writing() as session:
        session.connection().exec_driver_sql("UPDATE runs SET state = 'running'")  # as if it were still training
    at_the_first_look(lambda: store.end(first.id, "finished"))
    started = list[str]()

    def on_event(event: Event) -> None:
        if isinstance(event, RunStarted):
            started.append(event.config.norm)

    results = nb.train(norm=["batchnorm", "none"], on_event=on_event, **tiny)
    assert [(result.config.norm, result.elsewhere) for result in results] == [("batchnorm", True), ("none", False)]
    assert results[0].metrics == first.metrics
    assert started == ["none"]
    assert store.count() == 2


@pytest.mark.slow
@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "one killed"])
def test_two_launchers_execute_each_cell_once(
    kind: str, killed: bool, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: str = request.getfixturevalue("postgres_database") if kind == "postgresql" else str(tmp_path / "shared.db")
    monkeypatch.setenv("NORMBENCH_DB", place)
    Store.open().close()
    launchers = [start(tmp_path / f"home{number}", ["train", *GRID])[0] for number in range(2)]
    if killed:
        wait_for_runs_of(launchers[0].pid, 8)
        os.kill(launchers[0].pid or 0, signal.SIGKILL)
    for launcher in launchers:
        launcher.join()
    assert [launcher.exitcode for launcher in launchers] == [-signal.SIGKILL if killed else 0, 0]
    with Store.open() as store:
        runs = runs_frame(store)
        makers = Counter(store.find(run_id).pid for run_id in runs["id"])
    counted = Counter(runs["status"])
    assert counted.pop("interrupted", 0) <= killed
    assert counted == {"finished": CELLS}
    assert set(Counter(runs[runs["status"] == "finished"]["fingerprint"]).values()) == {1}
    assert min(makers[launcher.pid or 0] for launcher in launchers) >= 8


def wait_for_runs_of(pid: int | None, count: int) -> None:
    with Store.open(sweep=False) as store:
        for _ in range(600):
            runs = runs_frame(store)
            if sum(store.find(run_id).pid == pid for run_id in runs[runs["status"] == "finished"]["id"]) >= count:
                return
            time.sleep(0.05)
    pytest.fail("the launcher has not begun")
