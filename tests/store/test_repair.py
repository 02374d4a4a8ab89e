"""A repair fixes what can be known, removes and names what cannot, and keeps every run that can be read."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store._repair.salvage import put_in_place
from normbench_cli.store.check import check_database
from normbench_cli.store.queries import runs_frame
from normbench_cli.store.reading import fetch_each
from normbench_cli.store.repair import Repaired, repair
from normbench_cli.store.schema import Base
from normbench_cli.store.sqlite_file import log_of
from tests import damaging
from tests.editing import add_checkpoint, change, query
from tests.store.make_old_database import make_database, run_id

FINISHED = run_id("train", "finished")
COMPLETE = {"test/accuracy": 0.4, "train/loss": 0.25, "step_time_ms": 2.0}  # the last metrics of damaging's runs
OFTEN = ("id", "state", "config", "started_at", "environment_id")
RUN_COLUMNS = [
    pytest.param(column.name, marks=() if column.name in OFTEN else pytest.mark.slow, id=column.name)
    for column in Base.metadata.tables["runs"].columns
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "normbench.db"
    make_database(path)
    return path


@pytest.fixture
def file(home: Path, made: Path) -> Path:
    """A database with a run and a night of every kind; none is at work."""
    home.mkdir()
    return Path(shutil.copy(made, home / "normbench.db"))


def readable(path: Path) -> dict[str, dict[str, float]]:
    """The finished runs that can be read, with their metrics."""
    with Store.open(str(path), write=False, sweep=False) as store:
        ids = [run for run in runs_frame(store, status="finished")["id"] if sound(store, run)]
        return {run: store.latest_metrics(run) for run in ids}


def sound(store: Store, run: str) -> bool:
    try:
        return bool(store.find(run).id and repr(store.latest_metrics(run)))
    except DatabaseError:
        return False


def repaired(path: Path) -> Repaired:
    done = repair(str(path))
    with Store.open(str(path), write=False, sweep=False) as store:
        assert not check_database(store).problems
    assert not done.health.problems
    return done


@pytest.mark.parametrize("column", RUN_COLUMNS)
def test_a_damaged_value_of_a_run_costs_at_most_that_run(file: Path, column: str) -> None:
    before = readable(file)
    change(file, f"UPDATE runs SET {column} = x'ff' WHERE id = '{FINISHED}'")
    done = repaired(file)
    after = readable(file)
    assert done.backup is not None
    assert done.backup.exists()
    assert {**before, FINISHED: None} == {**after, FINISHED: None}
    lost = column == "config"
    assert (FINISHED in [row[0] for row in query(file, "SELECT id FROM runs")]) != lost
    assert done.lost == ([f"run {FINISHED} with 9 metrics: column config is b'\\xff', not JSON"] if lost else [])
    assert lost or done.done


def test_a_lost_status_or_fingerprint_is_not_guessed(file: Path) -> None:
    change(file, f"UPDATE runs SET state = 'done', fingerprint = x'00' WHERE id = '{FINISHED}'")
    repaired(file)
    assert query(file, f"SELECT state, fingerprint FROM runs WHERE id = '{FINISHED}'") == [("interrupted", "")]


def test_a_damaged_measurement_is_nan_or_gone_and_its_run_says_so(file: Path) -> None:
    change(file, f"UPDATE metrics SET value = 'x' WHERE run_id = '{FINISHED}' AND name = 'loss' AND epoch = 2")
    change(file, f"UPDATE samples SET data = x'00' WHERE run_id = '{FINISHED}' AND epoch = 1")
    done = repaired(file)
    with Store.open(str(file), sweep=False) as store:
        run = store.find(FINISHED)
        assert repr(store.latest_metrics(FINISHED)["train/loss"]) == "nan"
        assert "has removed or emptied 2 of this run's measurements" in run.details["remarks"][-1]
    assert len(done.lost) == 1
    assert "column data of series step_time_ms: it is truncated" in done.lost[0]


def test_rows_that_refer_to_missing_ones_are_repaired_or_removed(file: Path) -> None:
    change(file, "DELETE FROM environments WHERE id = 1")
    change(file, f"DELETE FROM runs WHERE id = '{run_id('profile', 'finished')}'")
    change(file, "DELETE FROM nights WHERE day = '2026-01-28'")
    done = repaired(file)
    assert "2 rows of metrics" not in done.lost
    assert {line.split(":")[0] for line in done.lost} == {
        "1 rows of metrics", "1 rows of samples", "6 rows of night_values"
    }  # fmt: skip
    assert query(file, "SELECT count(*) FROM runs")[0][0] == 9
    assert query(file, "SELECT count(*), count(run_id) FROM night_values") == [(18, 0)]


def test_dead_nights_are_marked_killed(file: Path) -> None:
    done = repaired(file)
    assert {row[0] for row in query(file, "SELECT state FROM nights")} == {"killed", "finished", "incomplete"}
    assert any(line.startswith("night 0c000000 is marked killed") for line in done.done)
    assert not repair(str(file)).done


@pytest.mark.parametrize("seed", range(3))
def test_a_file_with_damaged_pages_keeps_every_finished_run_that_could_be_read(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "runs.db"
    damaging.make_database(path)
    choose = random.Random(seed)
    content = path.read_bytes()
    while True:  # a page that is not the schema's
        path.write_bytes(content)
        damaging.replace_page(path, choose) if seed % 2 else damaging.flip_bytes(path, choose)
        try:
            before = readable(path)
            with Store.open(str(path), write=False, sweep=False) as store:
                if check_database(store).problems:
                    break
        except DatabaseError:
            continue
    done = repaired(path)
    after = readable(path)
    assert {run: after.get(run) for run in before} == before
    with Store.open(str(path), sweep=False) as store:
        for run in set(after) - set(before):
            assert after[run] == COMPLETE or "has removed" in store.find(run).details["remarks"][-1]
    assert done.backup is not None
    assert done.backup.exists()


def test_a_damaged_reference_in_the_text_of_a_table_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    damaging.make_database(path)
    before = readable(path)
    path.write_bytes(path.read_bytes().replace(b"REFERENCES environments", b"REFERENCES enfironments", 1))
    assert "its readable rows are in a new file" in repaired(path).done
    assert readable(path) == before


def test_runs_whose_measurements_were_in_a_damaged_page_say_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    ids = damaging.make_database(path)
    ((page,),) = query(path, "SELECT rootpage FROM sqlite_master WHERE name = 'metrics'")
    content = path.read_bytes()
    path.write_bytes(content[: 4096 * (page - 1)] + b"\xff" * 4096 + content[4096 * page :])
    done = repaired(path)
    assert "60 rows of metrics cannot be read" in done.lost
    with Store.open(str(path), sweep=False) as store:
        for run in ids:
            assert store.find(run).status == "finished"
            assert "has removed or emptied 12 of this run's" in store.find(run).details["remarks"][-1]


def test_a_file_is_not_replaced_while_a_run_is_at_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open() as store:
        run = store.begin({"norm": "popnorm"}, "f" * 16, {}, argv=[])
    monkeypatch.setattr("normbench_cli.store.check.integrity_problems", lambda *_: ["page 3 is damaged"])
    monkeypatch.setattr("normbench_cli.store.repair.integrity_problems", lambda *_: ["page 3 is damaged"])
    with pytest.raises(DatabaseError, match=f"run {run} is at work; wait for its end"):
        repair()
    assert [path.name for path in home.iterdir() if "backup" in path.name] == []


def test_the_folder_of_a_run_that_begins_during_the_check_is_not_an_orphan(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def read_and_begin(*args: Any) -> Any:
        found = fetch_each(*args)
        with Store.open(str(file), sweep=False) as other:
            begun.append(other.begin({}, "f", {}, argv=[]))
        add_checkpoint(begun[-1])
        return found

    monkeypatch.setattr("normbench_cli.store.check.fetch_each", read_and_begin)
    with Store.open(str(file), sweep=False) as store:
        assert check_database(store).orphans == []
    assert begun


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("name", ["rename", "replace"])
def test_a_replacement_that_is_interrupted_leaves_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, links: bool
) -> None:
    path, new, aside = (tmp_path / f"{name}.db" for name in ("old", "new", "aside"))
    path.write_text("damaged")
    log_of(path).write_text("log")
    new.write_text("repaired")
    if not links:
        monkeypatch.setattr("os.link", Mock(side_effect=PermissionError))
    with monkeypatch.context() as interrupting:
        interrupting.setattr(Path, name, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            put_in_place(new, path, aside)
    assert path.read_text() == "damaged"
    aside.unlink()
    put_in_place(new, path, aside)
    assert (path.read_text(), aside.read_text(), log_of(path).exists()) == ("repaired", "damaged", False)
