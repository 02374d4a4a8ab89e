"""What the database shows of runs that workers execute."""

from __future__ import annotations

from normbench_cli.store import Store
from normbench_cli.store.tasks import Running, run_of_task, running


def test_running_runs_have_their_last_accuracy_and_others_are_left_out() -> None:
    with Store.open() as store:
        ids = [store.begin({"seed": 0}, name, {}, argv=[]) for name in ("a", "b", "c", "d")]
        store.record(ids[0], {"test/accuracy": 0.5, "test/accuracy@bim": 0.1, "train/accuracy": 1.0}, epoch=1, step=1)
        store.record(ids[0], {"test/accuracy": 0.75}, epoch=2, step=2)
        store.end(ids[2], "finished")
        assert running(store, ["a", "b", "c"]) == {"a": Running(ids[0], 2, 0.75), "b": Running(ids[1])}


def test_a_label_is_recorded_when_a_run_begins_and_when_it_is_continued() -> None:
    with Store.open() as store:
        store.labels["task"] = "first"
        run_id = store.begin({"seed": 0}, "a", {}, argv=[], details={"data": 1})
        store.end(run_id, "interrupted")
        assert getattr(run_of_task(store, "a", "first"), "id", None) == run_id
        store.labels["task"] = "second"
        store.reopen(run_id, 0)
        assert store.find(run_id).details == {"data": 1, "task": "second"}
        assert run_of_task(store, "a", "first") is None
        assert run_of_task(store, "b", "second") is None
