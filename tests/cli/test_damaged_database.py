"""A database damaged in a hundred ways: every command ends by contract, and what is sound stays as it was."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from normbench_cli.printable import printable
from tests import damaging
from tests.support import CommandResult, RunCommand

WAYS = 100
PLACES = {
    "home",
    "compiled",
    "matplotlib",
    "reports",
    "copy.db",
    "normbench.db",
    "normbench.db-wal",
    "normbench.db-shm",
}
COMMANDS = (
    ["runs", "list", "--limit", "0"],
    ["runs", "show", "RUN"],
    ["runs", "show", "RUN", "--json"],
    ["report"],
    ["report", "--json", "--curve", "step_time_ms"],
    ["report", "--at", "50%", "--where", "norm=popnorm", "--format", "csv"],
    ["db", "check", "--json"],
    ["db", "backup", "copy.db"],
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A database and the ids of its runs."""
    path = tmp_path_factory.mktemp("sound") / "normbench.db"
    return path, damaging.make_database(path)


def check(ended: CommandResult, what: str) -> None:
    assert ended.code in (0, 1, 4), (what, ended)
    assert "unexpected" not in ended.err, (what, ended.err)
    assert "Traceback" not in ended.err, (what, ended.err)
    assert ended.out + ended.err == printable(ended.out + ended.err), what
    assert ended.code == 0 or ended.err or ended.out, what


@pytest.mark.parametrize("start", range(0, WAYS, 10))
def test_every_command_ends_by_contract(
    normbench: RunCommand, sound: tuple[Path, list[str]], home: Path, start: int
) -> None:
    for seed in range(start, start + 10):
        survive(normbench, sound, home, seed, COMMANDS, some=1)


def survive(
    normbench: RunCommand,
    sound: tuple[Path, list[str]],
    home: Path,
    seed: int,
    commands: Sequence[list[str]],
    some: int,
) -> None:
    """Damage a copy of the database, list its runs, run some of the commands, remove a run."""
    path, ids = sound
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    copy = home / path.name
    shutil.copy(path, copy)
    done = damaging.damage(copy, seed)
    what = f"seed {seed}: {done.what}"
    before = copy.read_bytes() if done.touched is None else damaging.rows_of(copy, done.touched)
    choose = random.Random(seed)
    run = choose.choice(ids)
    listed = normbench("runs", "list", "--json")
    check(listed, what)
    if done.touched is not None:
        found = {row["id"] for row in json.loads(listed.out)["runs"]}
        assert found >= set(ids) - done.touched, what
    for words in choose.sample(commands, some):
        check(normbench(*[run if word == "RUN" else word for word in words]), f"{what}: {words}")
    after = copy.read_bytes() if done.touched is None else damaging.rows_of(copy, done.touched)
    assert before == after, what
    removed = normbench("runs", "rm", run, "--yes", "--force", "--json")
    check(removed, what)
    if done.touched is not None and run not in done.touched:
        assert removed.code == 0, (what, removed)
    left = {item.name for item in home.iterdir()} | {item.name for item in Path().iterdir()}
    assert left <= PLACES, (what, left)
    shutil.rmtree("reports", ignore_errors=True)
    Path("copy.db").unlink(missing_ok=True)
