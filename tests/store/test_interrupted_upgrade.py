"""An upgrade that is killed leaves the old database or the new one, with all rows, and a whole backup."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import MutableMapping
from pathlib import Path

import pytest

from normbench_cli.store.schema import HEAD
from tests import killing
from tests.killing import CAN_FORK, FORK, run_to_end, start, trap
from tests.store.old_databases import FIRST, Contents, backups, contents, make_first, old_columns, version

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")

UPGRADE = ["db", "upgrade"]
MANY, KILLS = 50_000, 30
PLACES = {  # and how many calls of an uninterrupted upgrade are tried in the default suite
    "statement": 3,
    "before commit": 1,
    "after commit": 1,
    "backup begun": 1,
    "backup copied": 1,
    "backup made": 1,
}
OF_AN_UPGRADE = {
    "backup begun": ("normbench_cli.store.backup:create_new_file", "after"),
    "backup copied": ("normbench_cli.store.backup:copy", "after"),
    "backup made": ("normbench_cli.store.upgrade:backup", "after"),
}


@pytest.fixture(autouse=True)
def more_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killing, "OTHER_PLACES", killing.OTHER_PLACES | OF_AN_UPGRADE)


@pytest.fixture
def calls(tmp_path: Path) -> dict[str, int]:
    """How often an uninterrupted upgrade comes to each place."""
    home = tmp_path / "whole"
    home.mkdir()
    make_first(home / "normbench.db")
    with FORK.Manager() as manager:
        counted = manager.dict()
        assert run_to_end(home, UPGRADE, lambda: count_calls(counted)) == 0
        return dict(counted)


def count_calls(counted: MutableMapping[str, int]) -> None:
    for place in PLACES:
        trap(place, 0, counted)


def check_recovery(home: Path, columns: dict[str, list[str]], before: Contents) -> None:
    """Old or new, with all rows; then an upgrade finds nothing in its way."""
    path = home / "normbench.db"
    found = version(path)
    assert found in (FIRST, HEAD)
    assert contents(path, columns) == before
    for copy in backups(path):
        assert version(copy) == FIRST
        assert contents(copy, columns) == before
    assert backups(path) or found == FIRST
    assert run_to_end(home, UPGRADE) == 0
    assert version(path) == HEAD
    assert contents(path, columns) == before


def kill_at(home: Path, place: str, call: int) -> None:
    home.mkdir()
    path = make_first(home / "normbench.db")
    before = contents(path, columns := old_columns(path))
    assert run_to_end(home, UPGRADE, lambda: trap(place, call, {})) == -signal.SIGKILL
    check_recovery(home, columns, before)


def test_an_upgrade_killed_anywhere_is_done_or_can_be_done_again(calls: dict[str, int], tmp_path: Path) -> None:
    assert set(calls) == set(PLACES)
    for place, tried in PLACES.items():
        for call in random.Random(place).sample(range(1, calls[place] + 1), tried):
            kill_at(tmp_path / f"{place} {call}", place, call)


@pytest.mark.slow
def test_an_upgrade_killed_at_every_call(calls: dict[str, int], tmp_path: Path) -> None:
    for place in PLACES:
        for call in range(1, calls[place] + 1):
            kill_at(tmp_path / f"{place} {call}", place, call)


@pytest.mark.slow
def test_an_upgrade_of_many_rows_killed_at_random_moments(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    many = make_first(tmp_path / "many.db", metrics=MANY)
    before = contents(many, columns := old_columns(many))
    shutil.copy(many, whole / "normbench.db")
    began = time.monotonic()
    assert run_to_end(whole, UPGRADE) == 0
    seconds = time.monotonic() - began
    for number in range(KILLS):
        home = tmp_path / str(number)
        home.mkdir()
        shutil.copy(many, home / "normbench.db")
        process, _ = start(home, UPGRADE)
        time.sleep(random.Random(number).uniform(0, seconds))
        process.kill()
        process.join()
        check_recovery(home, columns, before)
        shutil.rmtree(home)


def test_two_upgrades_at_once_both_end_well(tmp_path: Path) -> None:
    path = make_first(tmp_path / "normbench.db", metrics=1000)
    before = contents(path, columns := old_columns(path))
    processes = [start(tmp_path, UPGRADE)[0] for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert version(path) == HEAD
    assert contents(path, columns) == before
    assert backups(path)
    assert all(contents(copy, columns) == before for copy in backups(path))
