"""A training whose database cannot be written from its second epoch on ends with its results, and loses no row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.store import Store
from normbench_cli.store._spool import recorder
from tests.faults import FAULTS, full, integrity, small_disk
from tests.support import RunCommand

SLOW = pytest.mark.slow
TRAIN = ["train", "--data", "digits:size=8", "--model", "mlp:size=8,width=8", "--batch-size", "512", "--epochs", "4"]
TIMED = "unit IN ('ms', 's', '1/s') OR name = 'peak_memory_bytes'"
ROWS = (
    f"SELECT epoch, step, split, condition, name, CASE WHEN {TIMED} THEN '' ELSE value END FROM metrics ORDER BY id",
    "SELECT epoch, name, first_step, count, iif(name = 'step_time_ms', '', data) FROM samples ORDER BY id",
    "SELECT kind, fingerprint, state, message, config, details FROM runs",
)


def all_rows(database: Path) -> list[list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(database)) as connection:
        return [connection.execute(query).fetchall() for query in ROWS]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCK_TIMEOUT", "RETRY_LOCK_TIMEOUT"):
        monkeypatch.setattr(recorder, name, 0.05)


@pytest.fixture
def from_the_second_epoch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], Any]], ExitStack]]:
    """Let a fault begin before the second epoch is recorded; it ends when the result is closed."""
    with ExitStack() as stack:

        def begin(fault: Callable[[], Any]) -> ExitStack:
            real = Store.record

            def record(self: Store, *args: Any, epoch: int | None = None, **kwargs: Any) -> None:
                if epoch == 2:
                    stack.enter_context(fault())
                real(self, *args, epoch=epoch, **kwargs)

            monkeypatch.setattr(Store, "record", record)
            return stack

        yield begin


@pytest.mark.parametrize("fault", [name if name == "full" else pytest.param(name, marks=SLOW) for name in FAULTS])
def test_the_rows_are_those_of_an_undisturbed_run(
    fault: str,
    normbench: RunCommand,
    tmp_path: Path,
    from_the_second_epoch: Callable[..., ExitStack],
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole, database = tmp_path / "whole.db", tmp_path / "lab" / "results.db"
    assert normbench(*TRAIN, "--db", str(whole), "-q").code == 0
    with small_disk(database.parent) if fault == "full" else nullcontext():
        database.parent.mkdir(exist_ok=True)
        with from_the_second_epoch(lambda: FAULTS[fault](database)):
            ended = normbench(*TRAIN, "--db", str(database), "--json", "-q")
            assert ended.code == 0, ended.err
            (run,) = json.loads(ended.out)["runs"]
            assert len(list(tmp_path.rglob("*.spool"))) == 1
        assert f"run {run['id']} goes on, and its records are kept in " in caplog.text
        listed = json.loads(normbench("runs", "list", "--db", str(database), "--json").out)["runs"]
        assert [(one["id"], one["status"]) for one in listed] == [(run["id"], "finished")]
        assert {name: listed[0]["metrics"][name] for name in run["metrics"]} == run["metrics"]
        assert all_rows(database) == all_rows(whole)
        assert integrity(database) == ["ok"]
        assert list(tmp_path.rglob("*.spool*")) == []
    assert len([record for record in caplog.records if "normbench_cli.store" in record.name]) == 2


def test_what_fits_nowhere_is_shown_and_named_and_an_error(
    normbench: RunCommand,
    tmp_path: Path,
    from_the_second_epoch: Callable[..., ExitStack],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One full disk has the database, the home folder and the folder for temporary files."""
    with small_disk(tmp_path / "disk") as disk:
        for name in ("NORMBENCH_HOME", "TMPDIR"):
            monkeypatch.setenv(name, str(disk / name))
            (disk / name).mkdir()
        database = disk / "NORMBENCH_HOME" / "normbench.db"
        with from_the_second_epoch(lambda: full(database)):
            ended = normbench(*TRAIN, "--json", "-q")
        (run,) = json.loads(ended.out)["runs"]
        assert (ended.code, run["status"], len(run["metrics"]) > 5) == (1, "finished", True)
        assert (
            f"of epochs 2-4, 6 pieces of series and the status finished of run {run['id']} could be written"
            in ended.err
        )
        assert ended.err.count("\n") == 1
        warned = [record.getMessage() for record in caplog.records if record.name.startswith("normbench_cli.exp")]
        assert len(warned) == 2
        assert integrity(database) == ["ok"]
        assert {row[0] for row in all_rows(database)[0]} <= {None, 1}
