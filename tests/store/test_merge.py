"""Merged databases: the same rows in any order, twice is once, nothing lost, nothing half done."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from normbench_cli import paths
from normbench_cli.store import Store
from normbench_cli.store._merge.merge_rows import Merger
from normbench_cli.store.backup import backup
from normbench_cli.store.merge import merge
from normbench_cli.store.queries import runs_frame, series
from normbench_cli.store.schema import Metric
from tests.merging import Content, canonical, contents, make_database


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an empty database."""
    place = tmp_path_factory.mktemp("merged")
    Store.open(str(place / "empty.db"), sweep=False).close()
    return place


def merged(folder: Path, into: str, *others: str) -> dict[str, list[str]]:
    """The contents of a copy of a database into which others were merged."""
    copy = folder / "into.db"
    shutil.copy(folder / into, copy)
    with Store.open(str(copy), sweep=False, synchronous="OFF") as store:
        merge(store, [str(folder / other) for other in others])
    return canonical(copy)


generated: dict[str, Any] = {
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate],
}  # shrinking would take minutes
three_databases = given(st.tuples(contents(), contents(), contents()), st.permutations(range(3)))


@settings(max_examples=4, **generated)
@three_databases
def test_three_databases_merged_in_any_order_give_the_same_rows_and_twice_is_once(
    folder: Path, home: Path, three: tuple[Content, ...], order: list[int]
) -> None:
    check_any_order(folder, three, order)


@pytest.mark.slow
@settings(max_examples=100, **generated)
@three_databases
def test_many_databases_merged_in_any_order_give_the_same_rows(
    folder: Path, home: Path, three: tuple[Content, ...], order: list[int]
) -> None:
    check_any_order(folder, three, order)


def check_any_order(folder: Path, three: tuple[Content, ...], order: list[int]) -> None:
    names = [f"{number}.db" for number in range(3)]
    for name, content in zip(names, three, strict=True):
        make_database(folder / "empty.db", folder / name, content)
    first, *rest = [names[number] for number in order]
    expected = merged(folder, "empty.db", first, *rest)
    assert merged(folder, first, *rest) == expected
    assert merged(folder, "empty.db", *names) == expected
    shutil.copy(folder / "into.db", folder / "all.db")
    assert merged(folder, names[order[1]], "all.db") == expected
    assert merged(folder, "all.db", *names) == expected, "twice is once"
    ids = {(run_id, run["started"]) for content in three for run_id, run in content.runs.items()}
    assert len(expected["runs"]) == len(ids)


def enter(path: Path, **config: object) -> str:
    with Store.open(str(path), sweep=False) as store:
        run_id = store.begin(config, "f" * 16, {"host": path.name}, argv=[])
        store.record(run_id, {"train/loss": 1.0}, epoch=1, step=1, series={"lr": [1.0]})
        store.end(run_id, "finished")
    return run_id


def test_repeats_of_a_cell_and_a_run_that_went_on_in_one_copy(folder: Path, tmp_path: Path) -> None:
    mine, copy = tmp_path / "mine.db", tmp_path / "copy.db"
    for path in (mine, copy):
        shutil.copy(folder / "empty.db", path)
    repeats = {enter(mine, norm="x"), enter(mine, norm="x")}
    with Store.open(str(mine), sweep=False) as store:
        running = store.begin({"norm": "y"}, "y" * 16, {}, argv=[])
        store.record(running, {"train/loss": 3.0}, epoch=1, step=1, series={"lr": [1.0]})
        backup(store.location, tmp_path / "early.db")
        store.record(running, {"train/loss": 2.0}, epoch=2, step=2, series={"lr": [0.5]})
        store.end(running, "finished")
    with Store.open(str(copy), sweep=False) as store:
        merge(store, [str(tmp_path / "early.db")])
        assert store.find(running).status == "running"
        (done,) = merge(store, [str(mine)])
        assert (done.added, done.updated, done.rows) == ([], [running], {"metrics": 1, "samples": 2})
        assert store.latest_metrics(running) == {"train/loss": 2.0}
        assert series(store, running, "lr").tolist() == [1.0, 0.5]
        (again,) = merge(store, [str(tmp_path / "early.db")])
        assert (again.added, again.updated, again.rows.get("metrics", 0)) == ([], [], 0)
        assert store.find(running).status == "finished"
        assert set(runs_frame(store)["id"]) == {*repeats, running}


def test_earlier_measurements_that_come_later_do_not_count_as_the_last(folder: Path, tmp_path: Path) -> None:
    for name, epochs in (("one.db", (0, 2)), ("two.db", (1,))):
        run = {"started": 0, "beat": 2, "status": "finished", "host": "here", "tag": "", "details": {}}
        rows = [{"run_id": "aaaaaaaa", "epoch": epoch, "value": epoch / 4} for epoch in epochs]
        make_database(folder / "empty.db", tmp_path / name, Content({"aaaaaaaa": run}, rows))
    with Store.open(str(tmp_path / "one.db"), sweep=False) as store:
        merge(store, [str(tmp_path / "two.db")])
        assert store.latest_metrics("aaaaaaaa") == {"train/loss": 0.5}
        with store.reading() as session:
            assert session.scalars(select(Metric.epoch).order_by(Metric.id)).all() == [0, 1, 2]


def test_a_merge_that_is_broken_off_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine.db", "other.db"):
        shutil.copy(folder / "empty.db", tmp_path / name)
        enter(tmp_path / name, norm="x")
    before = canonical(tmp_path / "mine.db")
    monkeypatch.setattr(Merger, "merge_decisions", Mock(side_effect=KeyboardInterrupt))
    with Store.open(str(tmp_path / "mine.db"), sweep=False) as store, pytest.raises(KeyboardInterrupt):
        merge(store, [str(tmp_path / "other.db")])
    assert canonical(tmp_path / "mine.db") == before


def test_of_two_runs_with_the_same_id_the_older_keeps_it_and_its_folder(
    folder: Path, tmp_path: Path, home: Path
) -> None:
    run = {"beat": 2, "status": "finished", "host": "here", "tag": "", "details": {}}
    for name, started in (("young.db", 1), ("old.db", 0)):
        make_database(folder / "empty.db", tmp_path / name, Content({"aaaaaaaa": run | {"started": started}}))
    paths.run_folder("aaaaaaaa").mkdir(parents=True)
    with Store.open(str(tmp_path / "young.db"), sweep=False) as store:
        (done,) = merge(store, [str(tmp_path / "old.db")])
        new = done.moved["aaaaaaaa"]
        assert store.find("aaaaaaaa").fingerprint == f"{0:016x}"
        assert store.find(new).fingerprint == f"{1:016x}"
        assert store.find(new).details == {"id_before_merge": "aaaaaaaa"}
    assert [path.name for path in (home / "runs").iterdir()] == [new]
