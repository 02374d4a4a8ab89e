"""The views for other programs: their columns, the last values, and the page that lists them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from normbench_cli.store import Store
from tests.store.make_old_database import make_database

PAGE = Path(__file__).parents[2] / "normbench_cli" / "docs" / "database.md"
Enter = Callable[..., str]


def read(path: Path, query: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def test_the_page_lists_every_view_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    make_database(path)
    made = {row["name"]: set(read(path, f"SELECT * FROM {row['name']}")[0]) for row in views(path)}
    listed = dict(re.findall(r"^\| `(v_\w+)` \| [^|]* \| (.*) \|$", PAGE.read_text(), re.M))
    assert set(listed) == set(made)
    for name, columns in listed.items():
        expected = made["v_latest_metrics"] if columns == "the same" else set(re.findall(r"`(\w+)`", columns))
        assert made[name] == expected


def views(path: Path) -> list[dict[str, Any]]:
    return read(path, "SELECT name FROM sqlite_master WHERE type = 'view'")


def test_the_last_row_of_a_name_counts(store: Store, enter: Enter, file: Path) -> None:
    run_id = enter(status="running", norm="popnorm", lr=0.5, epochs=2)
    for epoch, value in ((1, 0.1), (2, 0.2), (2, 0.3)):
        store.record(run_id, {"test/accuracy": value, "test/accuracy@bim": value / 2}, epoch=epoch, step=epoch)
    (run,) = read(file, "SELECT * FROM v_runs")
    assert (run["id"], run["norm"], run["lr"], run["epochs"]) == (run_id, "popnorm", 0.5, 2)
    assert (run["status"], run["test_accuracy"], run["test_loss"]) == ("running", 0.3, None)
    latest = read(file, "SELECT metric, epoch, value FROM v_latest_metrics ORDER BY metric")
    assert [tuple(row.values()) for row in latest] == [("test/accuracy", 2, 0.3), ("test/accuracy@bim", 2, 0.15)]
    curve = read(file, "SELECT epoch, value FROM v_curves WHERE metric = 'test/accuracy' ORDER BY epoch")
    assert [tuple(row.values()) for row in curve] == [(1, 0.1), (2, 0.3)]


def test_damaged_settings_do_not_break_the_view(store: Store, enter: Enter, file: Path) -> None:
    enter(lr=0.5)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE runs SET config = '{'")
        connection.commit()
    assert [row["lr"] for row in read(file, "SELECT * FROM v_runs")] == [None]
