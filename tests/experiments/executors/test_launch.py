"""From works to results: in order, each once, also where workers are lost; an interrupt stops the executor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest

from normbench_cli.experiments.events import CellState, Event, Notice, RunEnded, ignore
from normbench_cli.experiments.executors import launch
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.launch import MOST_LOSSES, make_tasks, run_works
from normbench_cli.experiments.executors.protocol import Failed, Outcome, Task, TaskEvent
from normbench_cli.experiments.result import RunResult
from normbench_cli.interrupts import Interrupted
from normbench_cli.store import Store
from tests.experiments.executors.support import Here, works

LOCAL = Choice("local")


def use(executor: Here, monkeypatch: pytest.MonkeyPatch) -> Here:
    monkeypatch.setattr(launch, "open_executor", lambda choice, works: closing(executor))
    return executor


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """No training: a task ends at once, with its seed as its score."""

    def run(task: Task) -> Outcome:
        work = task.work
        return Outcome(RunResult("1", "finished", work.config, {"seed": work.config.seed}, fingerprint=""), ("hm",))

    monkeypatch.setattr("tests.experiments.executors.support.run_task", run)


@pytest.mark.usefixtures("pretended")
def test_results_come_in_the_order_of_the_works_and_lost_ones_are_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = use(Here(lambda task, attempt: task.work.config.seed == 1 and attempt <= MOST_LOSSES), monkeypatch)
    events: list[Event] = []
    with Store.open() as store:
        results = run_works(works(3), LOCAL, store, events.append)
    assert [result.metrics["seed"] for result in results] == [0, 1, 2]
    assert len(executor.attempts) == 3 + MOST_LOSSES
    assert executor.closed
    states = [event.state for event in events if isinstance(event, CellState) and event.number == 1]
    assert states == ["running", "lost"] * MOST_LOSSES + ["finished"]
    assert [event.text for event in events if isinstance(event, Notice)] == ["tasks are run here", *["hm"] * 3]
    assert sum(isinstance(event, RunEnded) for event in events) == 3


@pytest.mark.usefixtures("pretended")
def test_a_cell_that_kills_its_workers_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    use(Here(lambda task, attempt: task.work.config.seed == 0), monkeypatch)
    with Store.open() as store:
        bad, good = run_works(works(2), LOCAL, store, ignore)
    assert (bad.status, good.status) == ("failed", "finished")
    assert bad.message == f"its worker was lost {MOST_LOSSES + 1} times: the power went"


def test_what_no_worker_can_do_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(Here):
        def poll(self, seconds: float) -> Sequence[TaskEvent]:
            return [Failed(self._waiting.pop().id, "no module named normbench_cli")]

    use(Refusing(), monkeypatch)
    with Store.open() as store:
        (result,) = run_works(works(), LOCAL, store, ignore)
    assert (result.status, result.message) == ("failed", "no module named normbench_cli")


@pytest.mark.usefixtures("pretended")
def test_an_interrupt_stops_the_executor_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(Here):
        def poll(self, seconds: float) -> Sequence[TaskEvent]:
            if self.attempts:
                raise KeyboardInterrupt
            return super().poll(seconds)

    executor = use(Interrupting(), monkeypatch)
    with Store.open() as store, pytest.raises(Interrupted) as stopped:
        run_works(works(3), LOCAL, store, ignore, then="again")
    assert str(stopped.value) == "interrupted; 1 of 3 cells have ended; again"
    assert executor.closed


def test_a_running_run_is_shown_with_its_epoch_and_score(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Here):
        """Its run is half done when the launcher looks."""

        def poll(self, seconds: float) -> Sequence[TaskEvent]:
            (task,) = self._waiting
            with Store.open() as store:
                if not self.attempts:
                    self.attempts.append(task.id)
                    store.labels["task"] = task.id
                    run = store.begin(task.work.config.to_dict(), task.work.fingerprint, {}, argv=[])
                    store.record(run, {"test/accuracy": 0.25}, epoch=1, step=1)
                    store.record(run, {"test/accuracy": 0.5, "test/accuracy@bim": 0.1}, epoch=2, step=2)
                    return []
            return super().poll(seconds)

    use(Slow(), monkeypatch)
    states: list[Event] = []
    with Store.open() as store:
        (result,) = run_works(works(), LOCAL, store, states.append)
    shown = [event for event in states if isinstance(event, CellState)]
    assert [(one.state, one.epoch, one.score) for one in shown[:1]] == [("running", 2, 0.5)]
    assert shown[-1].state == result.status == "finished"


def test_a_task_does_not_show_the_credentials_of_its_database() -> None:
    (task,) = make_tasks(works(), LOCAL, "postgresql://me:secret@host/db")
    assert "secret" not in repr(task)
    assert task.db.endswith("secret@host/db")
