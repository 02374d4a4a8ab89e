"""Every value is checked against its column, damage is named by run and column, and the other runs stay usable."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, insert

import normbench_cli as nb
from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store.check import check_database
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.queries import metrics_frame, runs_frame, series
from normbench_cli.store.rows import MOST_VALUES, pack, unpack
from normbench_cli.store.schema import Base, Night, NightDecision, NightValue
from normbench_cli.store.tasks import run_of_task
from normbench_cli.store.values import LARGEST_JSON, kind_of, read_json
from tests.store.make_old_database import decision_rows, night_rows, night_value_rows

Enter = Callable[..., str]
COLUMNS = [column for table in Base.metadata.tables.values() for column in table.columns]
WRONG: dict[type, list[Any]] = {
    str: [b"\xff\xfe", b"bytes"],
    int: ["many", 1.5, b"1"],
    float: ["high", b"\0"],
    dict: ["{", "[]", "5", b"{}", "[" * 50_000],
    list: ["{}", "null", ""],
    bytes: ["text", b"no zlib", zlib.compress(b"\0" * 100)],
}
WRONG_TIMES: list[Any] = ["yesterday", "2026-13-01 00:00:00", "0001-01-01 00:00:00.000000", b"\0", 2.5]
ROW_NUMBERS = {
    f"{name}.id" for name in ("environments", "metrics", "samples", "night_values", "night_decisions")
}  # SQLite itself keeps these whole numbers


def change(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with rows in every table, and nothing wrong."""
    path = tmp_path_factory.mktemp("sound") / "normbench.db"
    with Store.open(str(path), synchronous="OFF") as store:
        run_id = store.begin({}, "f" * 16, {"host": "here"}, argv=["train"])
        store.record(run_id, {"test/accuracy": 0.5})
        store.end(run_id, "finished")
        store.record(run_id, {}, step=3, series={"lr": [1.0, 2.0, 3.0]})
        with store.writing() as session:
            session.execute(insert(Night), next(night_rows()) | {"environment_id": store.find(run_id).environment_id})
            session.execute(insert(NightValue), next(night_value_rows()) | {"run_id": run_id})
            session.execute(insert(NightDecision), next(decision_rows()))
        assert not check_database(store).problems
    return path


@pytest.mark.parametrize("which", [slice(1), pytest.param(slice(1, None), marks=pytest.mark.slow)], ids=["one", "more"])
@pytest.mark.parametrize("column", [one for one in COLUMNS if str(one) not in ROW_NUMBERS], ids=str)
def test_a_wrong_value_of_any_column_is_found_and_named(
    sound: Path, tmp_path: Path, column: Column[Any], which: slice
) -> None:
    for value in WRONG.get(kind_of(column), WRONG_TIMES)[which]:
        file = Path(shutil.copy(sound, tmp_path))
        change(file, f"UPDATE {column.table.name} SET {column.name} = ?", value)
        with Store.open(str(file), sweep=False) as store:
            health = check_database(store)
        assert any(f"column {column.name} " in line or "points to a row" in line for line in health.problems), value
        assert health.do


def test_text_that_is_not_utf8_is_named(store: Store, enter: Enter, file: Path) -> None:
    run_id = enter()
    change(file, "UPDATE runs SET note = CAST(x'ff41' AS TEXT)")
    assert check_database(store).problems == [f"run {run_id}: column note is not UTF-8"]
    with pytest.raises(DamagedValue, match=f"run {run_id}: column note is not UTF-8; remove it with .* --force"):
        store.find(run_id)


def test_damaged_runs_are_left_out_and_named_and_the_others_are_newest_first(
    store: Store, enter: Enter, file: Path
) -> None:
    ids = [enter(metrics={"test/accuracy": number / 10}, seed=number) for number in range(5)]
    change(file, "UPDATE runs SET config = '{' WHERE id = ?", ids[1])
    change(file, "UPDATE metrics SET value = 'x' WHERE run_id = ?", ids[3])
    frame = runs_frame(store)
    assert frame["id"].tolist() == [ids[4], ids[3], ids[2], ids[0]]
    assert metrics_frame(store, frame["id"].tolist())["run_id"].tolist() == [ids[4], ids[2], ids[0]]
    assert store.damage() == [
        f"run {ids[1]} is left out: column config is not JSON: '{{'",
        f"run {ids[3]} is left out: its metrics are damaged: column value is 'x', not a number",
    ]


def test_python_callers_are_warned(store: Store, enter: Enter, file: Path) -> None:
    damaged, sound = enter(seed=0), enter(seed=1)
    change(file, "UPDATE runs SET started_at = 'now' WHERE id = ?", damaged)
    with pytest.warns(RuntimeWarning, match=f"run {damaged} is left out: column started_at is 'now', not a time"):
        assert nb.runs()["id"].tolist() == [sound]


def test_nothing_but_damage_is_an_error(store: Store, enter: Enter, file: Path) -> None:
    enter()
    enter()
    change(file, "UPDATE runs SET config = '[]'")
    with pytest.raises(DatabaseError, match=r"column config is \[\], not a JSON object, and 1 more runs are damaged"):
        runs_frame(store)


def test_a_damaged_running_run_does_not_stop_the_sweep(store: Store, enter: Enter, file: Path) -> None:
    damaged, dead = enter(status="running"), enter(status="running")
    change(file, "UPDATE runs SET pid = 4194305, heartbeat_at = '2026-01-01 00:00:00.000000'")
    change(file, "UPDATE runs SET heartbeat_at = x'00' WHERE id = ?", damaged)
    store.sweep()
    assert store.find(dead).status == "interrupted"


def test_a_run_without_its_environment_is_named(store: Store, enter: Enter, file: Path) -> None:
    run_id = enter()
    change(file, "DELETE FROM environments")
    with pytest.raises(DamagedValue, match=f"run {run_id}: column environment_id is 1, and there is no such"):
        store.find(run_id)


def test_what_lies_outside_a_damaged_page_is_read(store: Store, enter: Enter, file: Path) -> None:
    ids = {enter(seed=number, note="x" * 2000) for number in range(30)}
    store.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = file.read_bytes()
    pages = [start for start in range(0, len(content), 4096) if b"x" * 1000 in content[start : start + 4096]]
    start = pages[len(pages) // 2]
    file.write_bytes(content[:start] + b"\xff" * 4096 + content[start + 4096 :])
    with Store.open() as damaged:
        found = set(runs_frame(damaged)["id"])
        assert len(ids) > len(found) >= len(ids) - 3
        assert len(damaged.damage()) == len(ids - found)
        assert all(any(run_id in line for line in damaged.damage()) for run_id in ids - found)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda data, count: (data[:-3], count), r"truncated: 1,000 of 1,000|truncated: \d+ of 1,000"),
        (lambda data, count: (data, count + 1), "truncated: 1,000 of 1,001"),
        (lambda data, count: (data, count - 1), "unpacks to more than its 999 values"),
        (lambda data, count: (data, 10**10), "has 10,000,000,000 values, and 16,777,216 are the most"),
        (lambda data, count: (b"\0" + data, count), "cannot be unpacked"),
        (lambda data, count: (b"", count), "truncated: 0 of"),
    ],
)
def test_a_damaged_series_is_named(
    store: Store, enter: Enter, file: Path, spoil: Callable[[bytes, int], tuple[bytes, int]], says: str
) -> None:
    run_id = enter()
    store.record(run_id, {}, step=1000, series={"lr": [float(number) for number in range(1000)]})
    with closing(sqlite3.connect(file)) as connection:
        data, count = connection.execute("SELECT data, count FROM samples").fetchone()
    change(file, "UPDATE samples SET data = ?, count = ?", *spoil(data, count))
    with pytest.raises(DamagedValue, match=f"run {run_id}: its series lr is damaged: .*{says}"):
        series(store, run_id, "lr")
    assert check_database(store).problems


def test_json_is_limited_before_it_is_read() -> None:
    assert read_json(json.dumps({"a": 1})) == {"a": 1}
    with pytest.raises(DamagedValue, match=r"JSON of 4,194,305 characters, and 4,194,304 are the most"):
        read_json("[" * (LARGEST_JSON + 1))


def test_a_series_is_packed_and_unpacked() -> None:
    count, data = pack([1.0, -2.5, float("inf")])
    assert unpack(data, count).tolist() == unpack(data).tolist() == [1.0, -2.5, float("inf")]
    assert unpack(pack([])[1], 0).tolist() == []
    with pytest.raises(DamagedValue, match="are the most"):
        unpack(data, MOST_VALUES + 1)


def test_the_newest_runs_are_the_same_beside_a_damaged_row(store: Store, enter: Enter, file: Path) -> None:
    store.labels["task"] = "t"
    finished, later, damaged = enter(), enter("failed"), enter("failed")
    store.end(later, "failed")
    change(file, "UPDATE runs SET started_at = '2020-01-01 00:00:00.000000' WHERE id = ?", later)
    change(file, "UPDATE runs SET state = 'done' WHERE id = ?", damaged)
    assert store.newest_runs([""]) == {"": (finished, "finished")}
    assert getattr(run_of_task(store, "", "t"), "id", None) == finished
