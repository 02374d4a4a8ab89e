"""normbench db merge, export, thin, check --repair."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from normbench_cli import paths
from normbench_cli.store import Store
from normbench_cli.store.schema import HEAD
from tests.editing import add_checkpoint, change, end_in_2020, query
from tests.faults import locked
from tests.store.make_old_database import OLD, make_database
from tests.store.spooling import run_in, write_all
from tests.support import RunCommand

Enter = Callable[..., str]


def test_thinned_series_are_readable_and_reports_say_so(normbench: RunCommand, enter: Enter, home: Path) -> None:
    run_id, new = enter(0.5, seed=0), enter(0.5, seed=1)
    with Store.open() as store:
        for one in (run_id, new):
            store.record(one, {}, step=1000, series={"lr": [float(n) for n in range(1000)]})
    end_in_2020(home, run_id)
    dry = normbench("db", "thin", "--older-than", "30d", "--dry-run").out
    assert dry.startswith("would thin the series of 1 runs from 1,000 to 100 values")
    assert json.loads(normbench("db", "thin", "--older-than", "30d", "--json").out)["runs"] == [run_id]
    assert "no series is that old" in normbench("db", "thin", "--older-than", "30d").out
    assert f"Raw series are thinned to one value of 10 ({run_id})" in normbench("report").out
    curve = normbench("report", "--curve", "lr", "--by", "seed", "--json")
    assert curve.code == 0
    assert "sound" in normbench("db", "check").out


@pytest.mark.parametrize("revision", ["0001", HEAD])
def test_databases_of_any_revision_are_merged_and_stay_as_they_are(
    normbench: RunCommand, enter: Enter, home: Path, tmp_path: Path, revision: str
) -> None:
    mine, other = enter(0.5), tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.executescript((OLD / f"{revision}.sql").read_text(encoding="utf-8"))
    before = other.read_bytes()
    ended = normbench("db", "merge", "other.db", "--json")
    assert ended.code == 0, ended.err
    (merged,) = json.loads(ended.out)["merged"]
    assert len(merged["added"]) == 10
    assert other.read_bytes() == before
    again = json.loads(normbench("db", "merge", "other.db", "--json").out)["merged"][0]
    assert (again["added"], again["updated"], again["rows"].get("metrics", 0)) == ([], [], 0)
    assert {row["id"] for row in json.loads(normbench("runs", "list", "--json").out)["runs"]} == {
        mine, *merged["added"]
    }  # fmt: skip
    assert "sound" in normbench("db", "check").out
    assert sorted(path.name for path in home.iterdir() if path.suffix != ".db") == []


def test_merging_copies_checkpoints_from_a_home_where_asked_to(
    normbench: RunCommand, enter: Enter, home: Path, tmp_path: Path
) -> None:
    run_id = enter(0.5)
    (add_checkpoint(run_id).parent / "checkpoint-9.pt.1-2.writing").touch()  # of a killed process
    shutil.move(home, tmp_path / "laptop")
    assert normbench("db", "merge", "laptop").code == 0
    assert not paths.run_folder(run_id).exists()
    assert "files of 1 runs copied" in normbench("db", "merge", "laptop", "--with-checkpoints").out
    assert add_checkpoint(run_id).read_bytes() == b"x" * 1000
    assert len(list(paths.run_folder(run_id).iterdir())) == 1
    assert "copied" not in normbench("db", "merge", "laptop", "--with-checkpoints").out


def test_a_database_that_cannot_be_merged_is_refused_and_nothing_changes(
    normbench: RunCommand, enter: Enter, home: Path, tmp_path: Path
) -> None:
    enter(0.5)
    make_database(tmp_path / "good.db")
    make_database(tmp_path / "newer.db")
    change(tmp_path / "newer.db", "UPDATE normbench_schema_version SET version_num = '9999'")
    (tmp_path / "text").write_text("nothing like it")
    for other, says in (("newer.db", "newer normbench"), ("text", "not a database"), ("gone.db", "no database")):
        ended = normbench("db", "merge", "good.db", other)
        assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
        assert says in ended.err
        assert query(home / "normbench.db", "SELECT count(*) FROM runs") == [(1,)]
    assert normbench("db", "merge", str(home)).code == 2


def test_damaged_runs_of_another_database_are_left_out_and_named(
    normbench: RunCommand, enter: Enter, tmp_path: Path
) -> None:
    enter(0.5)
    make_database(tmp_path / "other.db")
    change(tmp_path / "other.db", "UPDATE runs SET config = '{' WHERE id = '0a000000'")
    change(tmp_path / "other.db", "UPDATE metrics SET value = 'x' WHERE run_id = '0b000001'")
    ended = normbench("db", "merge", "other.db")
    assert ended.code == 5
    assert "8 runs added" in ended.out
    assert "run 0a000000 of other.db is left out: column config is not JSON" in ended.err
    assert "run 0b000001 of other.db is left out: its measurements are damaged, here or there" in ended.err
    assert "sound" in normbench("db", "check").out


def test_tables_are_exported_with_their_types(normbench: RunCommand, home: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    home.mkdir()
    make_database(home / "normbench.db")
    for form in ("csv", "parquet"):
        ended = normbench("db", "export", form, "--format", form, "--series")
        assert ended.code == 0, ended.err
        manifest = json.loads((tmp_path / form / "manifest.json").read_text())
        assert {*manifest["files"]} == {path.name for path in (tmp_path / form).iterdir()} - {"manifest.json"}
        assert manifest["files"][f"runs.{form}"]["rows"] == 10
    runs = pd.read_parquet(tmp_path / "parquet" / "runs.parquet").set_index("id")
    assert runs.loc["0a000001", "started_at"] == pd.Timestamp("2026-01-31T12:01:00Z")
    assert json.loads(runs.loc["0a000001", "config"])["epochs"] == 2
    values = pd.read_parquet(tmp_path / "parquet" / "metrics.parquet").set_index("name")["value"]
    assert values["loss"].dtype == "float64"
    assert values["gradient_norm"] == float("inf")
    steps = pd.read_parquet(tmp_path / "parquet" / "series.parquet")
    assert steps[(steps["run_id"] == "0a000001") & (steps["step"] > 2)]["value"].tolist()[::2] == [11.0, 12.0]
    with (tmp_path / "csv" / "runs.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert rows["0a000001"]["started_at"] == "2026-01-31T12:01:00+00:00"
    assert rows["0a000001"]["note"] == 'it\'s a "note",\nin two lines: 1 ± 2'
    again = normbench("db", "export", "csv")
    assert (again.code, "exists" in again.err) == (1, True)


def test_an_export_of_some_runs_leaves_damage_out_and_says_so(
    normbench: RunCommand, enter: Enter, home: Path, tmp_path: Path
) -> None:
    kept, _ = enter(0.5, norm="popnorm"), enter(0.6, norm="batchnorm")
    change(home / "normbench.db", "UPDATE metrics SET value = 'x' WHERE name = 'loss'")
    ended = normbench("db", "export", "some", "--where", "norm=popnorm")
    assert ended.code == 5
    assert f"run {kept}, row 2 of metrics is left out: column value is 'x', not a number" in ended.err
    lines = (tmp_path / "some" / "metrics.csv").read_text().splitlines()
    assert len(lines) == 2
    assert normbench("db", "export", "other", "--format", "xml").code == 2


def test_check_names_folders_without_a_run_and_repair_sets_them_aside(
    normbench: RunCommand, enter: Enter, home: Path
) -> None:
    run_id = enter(0.5)
    add_checkpoint("00000000")
    out = normbench("db", "check").out
    assert "folders of checkpoints without a run: 00000000" in out
    assert f"finished runs without a checkpoint here, which eval cannot score: 1 ({run_id})" in out
    other = normbench("db", "check", "--repair", "--db", "elsewhere.db")
    assert other.code == 1
    upgraded = normbench("db", "upgrade", "--db", "elsewhere.db")
    assert upgraded.code == 0
    assert "00000000" in normbench("db", "check", "--db", "elsewhere.db").out
    assert run_id not in normbench("db", "check", "--db", "elsewhere.db").out
    repaired = normbench("db", "check", "--repair")
    assert repaired.code == 0
    assert (home / "orphaned" / "00000000" / "checkpoint-000000005.pt").exists()
    assert "nothing to repair" in normbench("db", "check", "--repair").out


def test_what_waits_to_be_recorded_is_named(normbench: RunCommand, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.store._spool.recorder.LOCK_TIMEOUT", 0.1)
    with Store.open() as store:
        run_id = run_in(store)
        with locked(home / "normbench.db"):
            write_all(store, run_id, end=False)
        checked = normbench("db", "check")
    assert "not recorded yet: " in checked.out
    assert f" of run {run_id} in " in checked.out
    assert checked.code == 0


def test_tables_are_exported_to_a_folder_and_not_to_a_url(normbench: RunCommand, enter: Enter) -> None:
    enter(0.5, seed=0)
    ended = normbench("db", "export", "nosuch://x")
    assert (ended.code, ended.out) == (2, "")
    assert not Path("nosuch:").exists()
