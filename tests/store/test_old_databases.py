"""Databases of every revision reach the newest one with all their rows."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from normbench_cli.store import Store, upgrade
from normbench_cli.store.location import parse_location
from normbench_cli.store.queries import metrics_frame, runs_frame, series
from normbench_cli.store.rows import unpack
from normbench_cli.store.schema import HEAD, Base
from normbench_cli.store.status import STATUSES
from tests.store.make_old_database import DETAILS, EPOCHS, KINDS, OLD, make_sql, run_id, run_rows


def restored(sql: str, path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return path


def test_every_revision_has_an_old_database() -> None:
    scripts = ScriptDirectory.from_config(upgrade.alembic_config()).walk_revisions()
    expected = sorted(script.revision for script in scripts)
    assert sorted(file.stem for file in OLD.iterdir()) == expected, "run `python -m tests.store.make_old_database`"


def test_the_script_is_deterministic_and_makes_the_committed_database_of_head(tmp_path: Path) -> None:
    """Row by row: the text may differ with the version of SQLite, and packed series with that of zlib."""
    sql = make_sql()
    assert make_sql() == sql
    made = restored(sql, tmp_path / "made.db")
    committed = restored((OLD / f"{HEAD}.sql").read_text(encoding="utf-8"), tmp_path / "committed.db")
    for table in Base.metadata.tables:
        assert contents(made, table) == contents(committed, table), "run `python -m tests.store.make_old_database`"
    assert upgrade.upgrade(parse_location(str(made))) == (HEAD, None)


def contents(path: Path, table: str) -> list[list[object]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    return [[repr(unpack(cell)) if isinstance(cell, bytes) else cell for cell in row] for row in found]


@pytest.fixture(params=[file.stem for file in sorted(OLD.iterdir())])
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database of an old revision, upgraded."""
    revision: str = request.param
    path = restored((OLD / f"{revision}.sql").read_text(encoding="utf-8"), tmp_path / "old.db")
    before, backup = upgrade.upgrade(parse_location(str(path)))
    assert before == revision
    assert (backup is not None) == (revision != HEAD)
    return path


def test_an_upgraded_database_has_all_its_runs(upgraded: Path) -> None:
    with Store.open(str(upgraded), write=False, sweep=False) as store:
        runs = runs_frame(store)
        found = {run.id: (run.kind, run.status) for run in runs.itertuples()}
        assert found == {run_id(kind, status): (kind, status) for kind in KINDS for status in STATUSES}
        run = store.find(run_id("train", "finished"))
        assert (run.norm, run.seed, run.tag, run.config["epochs"]) == ("popnorm:kappa=4", 1, "old", 2)
        assert run.note == run.config["note"] == 'it\'s a "note",\nin two lines: 1 ± 2'
        assert run.environment.facts == {"host": "server", "versions": {"torch": "2.9.0"}}


def test_an_upgraded_database_keeps_its_fingerprints(upgraded: Path) -> None:
    with Store.open(str(upgraded), write=False, sweep=False) as store:
        found = {run_id: store.find(run_id).fingerprint for run_id in runs_frame(store)["id"]}
    assert found == {row["id"]: row["fingerprint"] for row in run_rows()}


def test_the_runs_of_the_first_schema_have_no_details_and_those_of_later_ones_keep_theirs(
    upgraded: Path, request: pytest.FixtureRequest
) -> None:
    expected = {} if request.node.callspec.params["upgraded"] == "0001" else DETAILS
    with Store.open(str(upgraded), write=False, sweep=False) as store:
        assert store.find(run_id("train", "finished")).details == expected
        assert store.find(run_id("train", "failed")).details == {}


def test_details_can_be_added_to_an_upgraded_run(upgraded: Path) -> None:
    finished = run_id("train", "finished")
    with Store.open(str(upgraded)) as store:
        store.add_details(finished, {"remarks": []})
        assert store.find(finished).details["remarks"] == []


def test_an_upgraded_database_has_all_its_measurements(upgraded: Path) -> None:
    with Store.open(str(upgraded), write=False, sweep=False) as store:
        finished = run_id("train", "finished")
        assert store.latest_metrics(finished) == EPOCHS[-1] | {"test/accuracy@bim:eps=0.03": 0.125}
        diverged = store.latest_metrics(run_id("train", "diverged"))
        assert repr(diverged) == repr({"train/loss": math.nan, "gradient_norm": math.inf, "lowest": -math.inf})
        curve = metrics_frame(store, [finished], ["train/loss"], curve=True)
        assert curve[["epoch", "value"]].to_numpy().tolist() == [[1, 1.0], [2, 0.5]]
        times = series(store, finished, "step_time_ms")
        assert repr(times.tolist()) == repr([12.0, 12.5, 13.0, 11.0, math.nan, 12.0])
        assert times.index.tolist() == [0, 1, 2, 3, 4, 5]


def test_thinned_series_are_read_since_they_exist(upgraded: Path, request: pytest.FixtureRequest) -> None:
    before = request.node.callspec.params["upgraded"] < "0004"
    with Store.open(str(upgraded), write=False, sweep=False) as store:
        values = series(store, run_id("train", "failed"), "lr")
    assert list(values.items()) == ([] if before else [(0, 0.5), (2, 0.25)])


def test_the_running_runs_of_an_upgraded_database_are_interrupted(upgraded: Path) -> None:
    with Store.open(str(upgraded)) as store:
        assert {store.find(run_id(kind, "running")).status for kind in KINDS} == {"interrupted"}
