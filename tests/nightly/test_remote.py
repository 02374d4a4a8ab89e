"""Cells of a night measured by the workers of an executor: one after the other, within their time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from typing import Any

import pytest

from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.protocol import TaskEvent
from normbench_cli.nightly import remote
from normbench_cli.nightly.cell import NightlyCell
from normbench_cli.nightly.cell_process import CellFailed, Measured, OutOfTime, measure_in_process
from normbench_cli.nightly.night import open_night
from normbench_cli.nightly.remote import measured_by
from normbench_cli.store import Store
from normbench_cli.store.nights import night_values
from tests.experiments.executors.support import Here
from tests.nightly.support import FIRST, suite_of

CELL = NightlyCell("popnorm", "profile", {"norm": "popnorm", "device": "cpu"}, ((8, 8),))
RAY = Choice("ray")
Measuring = Callable[[NightlyCell, Store, str], Measured]


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", "data")


def use(executor: Here, monkeypatch: pytest.MonkeyPatch, measure: Any = None) -> Here:
    monkeypatch.setattr(
        remote, "open_executor", lambda choice, works: closing(executor) if works else nullcontext(executor)
    )
    monkeypatch.setattr(remote, "measure", measure or (lambda cell, store, source: Measured({"a": 1.0})))
    return executor


def measured(limit: float = 60.0) -> Any:
    with measured_by(RAY) as measure:
        return measure(CELL, None, "a test", limit, lambda: None)


def test_by_default_a_night_measures_here() -> None:
    for choice in (None, Choice("local")):
        with measured_by(choice) as measure:
            assert measure is measure_in_process


def test_a_lost_cell_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = use(Here(lambda task, attempt: attempt == 1), monkeypatch)
    assert measured().values == {"a": 1.0}
    assert len(executor.attempts) == 2


def test_what_fails_and_what_is_always_lost_is_a_failed_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(cell: NightlyCell, store: Store, source: str) -> Measured:
        raise ValueError("no popnorm today")

    use(Here(), monkeypatch, fail)
    with pytest.raises(CellFailed, match="no popnorm today"):
        measured()
    use(Here(lambda task, attempt: True), monkeypatch)
    with pytest.raises(CellFailed, match="the power went"):
        measured()


def test_a_cell_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Here):
        def poll(self, seconds: float) -> Sequence[TaskEvent]:
            return []

    executor = use(Hanging(), monkeypatch)
    with pytest.raises(OutOfTime, match="it was stopped after 0 s"):
        measured(0.01)
    assert executor.closed


def test_values_belong_to_the_class_of_the_machine_that_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"device": "cpu", "device_name": "this one"}

    def measure(cell: NightlyCell, store: Store, source: str) -> Measured:
        run = store.begin({"seed": 0}, "f", facts | {"device_name": "another"}, argv=[])
        store.end(run, "finished")
        return Measured({"a": 1.0}, run)

    use(Here(), monkeypatch, measure)
    suite = suite_of("here", "there")
    with Store.open() as store:
        night = open_night(store, suite, FIRST.date(), facts)
        done = measured()
        night.record(suite.cells[0], Measured(done.values))
        night.record(suite.cells[1], done)
        found = {value.cell: value.environment_class for value in night_values(store, suite.name)}
    assert done.elsewhere
    assert found["here"] != found["there"]


def test_the_worker_reads_the_suites_specs_as_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []

    def measure(cell: NightlyCell, store: Store, source: str) -> Measured:
        sources.append(source)
        return Measured({})

    use(Here(), monkeypatch, measure)
    measured()
    assert sources == ["a test"]
