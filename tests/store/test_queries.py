"""The database as DataFrames, and the filters on settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from normbench_cli.errors import UsageError
from normbench_cli.store import Store
from normbench_cli.store.filter import parse_where
from normbench_cli.store.queries import metrics_frame, runs_frame, series, series_names
from normbench_cli.store.schema import Run
from normbench_cli.store.store import IN_LIMIT

Enter = Callable[..., str]


def test_no_runs_make_an_empty_frame_with_all_columns(store: Store) -> None:
    assert runs_frame(store, where=parse_where(["norm=batchnorm", "epochs=2", "train/loss<2"])).empty
    assert metrics_frame(store).columns.tolist() == ["run_id", "metric", "epoch", "value"]


def test_runs_are_listed_newest_first_with_their_settings(store: Store, enter: Enter) -> None:
    first, second = enter(norm="batchnorm", epochs=3, lr=0.5), enter(norm="none", iterations=7, epochs=None)
    frame = runs_frame(store)
    assert frame["id"].tolist() == [second, first]
    assert frame["epochs"].tolist() == [None, 3]
    assert repr(frame["iterations"].tolist()) == "[7, None]"
    assert frame["lr"].tolist() == [0.1, 0.5]  # what a run did not record has its default
    assert frame["config"].tolist()[0] == {"norm": "none", "iterations": 7, "epochs": None}


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (["norm=batchnorm"], {1, 2}),
        (["norm=bn"], {1, 2}),
        (["norm=batchnorm", "norm=their.module:Norm"], {1, 2, 3}),
        (["norm=batchnorm", "seed=2"], {2}),
        (["norm=popnorm:kappa=8.0"], {4}),  # recorded as popnorm:kappa=8
        (["lr=1e-1"], {1}),
        (["iterations=none", "folds=0"], {1, 2, 3, 4}),
        (["batch_size=65"], set()),
    ],
)
def test_where_accepts_values_as_written_on_a_command_line(
    store: Store, enter: Enter, pairs: list[str], found: set[int]
) -> None:
    enter(seed=1, norm="batchnorm")
    enter(seed=2, norm="batchnorm", lr=0.2)
    enter(seed=3, norm="their.module:Norm", lr=0.3)
    enter(seed=4, norm="popnorm:kappa=8", lr=0.4)
    assert set(runs_frame(store, where=parse_where(pairs))["seed"]) == found


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["test/accuracy > 0.8"], {2, 3}),
        (["test/accuracy>80% and norm=bn"], {2}),
        (["'test/accuracy@bim' <= 0.3 or seed=1"], {1, 3}),
        (["not test/accuracy > 0.8"], {1, 4}),
        (["test/accuracy = none"], {4}),
        (["test/accuracy=0.9", "seed<9"], {2}),
    ],
    ids=str,
)
def test_where_takes_the_last_value_of_each_metric(
    store: Store, enter: Enter, filters: list[str], found: set[int]
) -> None:
    enter(metrics={"test/accuracy": 0.7}, seed=1, norm="batchnorm")
    run_id = enter("running", metrics={"test/accuracy": 0.1}, seed=2, norm="batchnorm")
    store.record(run_id, {"test/accuracy": 0.9}, epoch=2)
    enter(metrics={"test/accuracy": 0.95, "test/accuracy@bim": 0.3}, seed=3, norm="none")
    enter(seed=4)
    frame = runs_frame(store, where=parse_where(filters))
    assert set(frame["seed"]) == found
    assert "test/accuracy" not in frame


def test_a_filter_on_a_metric_that_no_run_has_gets_a_suggestion(store: Store, enter: Enter) -> None:
    enter(metrics={"test/accuracy": 0.7})
    with pytest.raises(UsageError, match=r"no run has the metric 'test/acuracy', at character 13.*'test/accuracy'"):
        runs_frame(store, where=parse_where(["seed=0 and (test/acuracy > 1)"]))


@pytest.mark.parametrize("filters", [{"kind": "profile"}, {"status": "failed"}, {"tag": "t"}], ids=str)
def test_runs_are_selected_by_kind_status_and_tag(store: Store, enter: Enter, filters: dict[str, Any]) -> None:
    enter()
    wanted = enter("failed", kind="profile", tag="t", shape=[1, 2])
    assert runs_frame(store, **filters)["id"].tolist() == [wanted]


def test_the_last_value_counts_of_a_run_or_of_each_epoch(store: Store, enter: Enter) -> None:
    run_id, other = enter(metrics={"test/accuracy": 0.1}), enter(metrics={"train/loss": 9})
    for epoch, value in ((1, 0.2), (1, 0.3), (2, 0.4)):
        store.record(run_id, {"test/accuracy": value, "test/accuracy@bim": 0}, epoch=epoch)
    store.record(run_id, {"test/accuracy": 0.5})

    def values(run_ids: list[str] | None = None, *, curve: bool = False) -> list[float]:
        return list(metrics_frame(store, run_ids, ["test/accuracy"], curve=curve)["value"])

    assert values() == [0.5]
    assert values(curve=True) == [0.3, 0.4]
    assert values([other]) == []
    assert values([run_id, *(f"{n:08x}" for n in range(1000))]) == [0.5]
    assert metrics_frame(store, [run_id])["metric"].tolist() == ["test/accuracy@bim", "test/accuracy"]


def test_what_is_read_of_a_run_is_its_own(store: Store, enter: Enter) -> None:
    """Of three runs, whatever the order of their ids."""
    ids = {enter("running", metrics={f"own{n}": n, "shared": n}): n for n in range(3)}
    for run_id, n in ids.items():
        store.record(run_id, {}, step=1, series={f"own{n}": [n], "shared": [n]})
    for run_id, n in ids.items():
        assert series_names(store, run_id) == [f"own{n}", "shared"]
        assert series(store, run_id, "shared").tolist() == [n]
        assert store.latest_metrics(run_id) == {f"own{n}": n, "shared": n}
        assert metrics_frame(store, [run_id], ["shared"])["value"].tolist() == [n]
    assert metrics_frame(store, [])["value"].tolist() == []


def test_a_metric_is_selected_by_all_parts_of_its_name(store: Store, enter: Enter) -> None:
    names = ["test/loss", "train/loss", "loss", "test/accuracy", "test/loss@bim", "test/loss@fog"]
    run_id = enter(metrics={name: number for number, name in enumerate(names)})
    for number, name in enumerate(names):
        found = metrics_frame(store, [run_id], [name])
        assert found[["run_id", "metric"]].to_numpy().tolist() == [[run_id, name]]
        assert found["value"].tolist() == [number]
    assert metrics_frame(store, None, names[:2])["metric"].tolist() == names[:2]


@pytest.mark.parametrize("more", [-1, 0, 1, 300_000])  # the last are more than SQLite takes as parameters
def test_any_number_of_runs_may_be_asked_for(store: Store, enter: Enter, more: int) -> None:
    run_id = enter(metrics={"a": 1})
    enter(metrics={"a": 2})
    ids = [run_id, *(f"x{n}" for n in range(IN_LIMIT - 1 + more))]
    assert metrics_frame(store, ids)["run_id"].tolist() == [run_id]


def test_a_tuning_has_no_defaults_and_lists_are_compared_as_text(store: Store, enter: Enter) -> None:
    enter(kind="tune", shape=[1, 2], options={"b": 1, "a": None})
    enter(norm="none")
    tuning, training = runs_frame(store, kind="tune"), runs_frame(store, kind="train")
    assert tuning[["shape", "options", "lr"]].to_numpy().tolist() == [["[1, 2]", '{"a": null, "b": 1}', None]]
    assert training["lr"].tolist() == [0.1]


def test_runs_of_one_moment_are_listed_by_id(store: Store, enter: Enter) -> None:
    ids = sorted(enter() for _ in range(4))
    with store.writing() as session:
        session.execute(update(Run).values(started_at=store.find(ids[0]).started_at))
    frame = runs_frame(store)
    assert frame["id"].tolist() == ids
    assert frame.index.tolist() == [0, 1, 2, 3]


def test_the_tag_and_the_note_are_those_of_now(store: Store, enter: Enter) -> None:
    run_id = enter(tag="before", note="before")
    with store.writing() as session:
        session.execute(update(Run).values(tag="now", note="now"))
    found = runs_frame(store, where=parse_where(["tag=now"])).iloc[0]
    assert (found["id"], found["tag"], found["note"], found["config"]["tag"]) == (run_id, "now", "now", "before")
