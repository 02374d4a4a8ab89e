"""normbench nightly bisect: a planted slowdown in a small git history is found, and nothing else changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli.nightly.bisect import plan
from normbench_cli.nightly.bisect.git import Checkout, Commit
from normbench_cli.nightly.bisect.worker import CannotMeasure, Request
from tests.nightly.bisect.histories import BROKEN, MEASUREMENT, NORM, SUITE, History, make_history
from tests.support import RunCommand


class Reading:
    """Reads the value of a commit from its file, in place of the process that measures it."""

    def __init__(self, checkout: Checkout, commit: Commit, request: Request, folder: Path, warm_up: bool) -> None:
        self.values: list[float] = []
        self.file = folder / commit.short / "files"
        if not self.file.exists():
            checkout.copy(commit, self.file)

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None: ...

    def measure(self) -> float:
        content = (self.file / "theirs" / "norm.py").read_text().splitlines()[1]
        if content == BROKEN.strip():
            raise CannotMeasure("ModuleNotFoundError: a_module_that_nobody_has")
        self.values.append(float(content) * (1 + 0.001 * (len(self.values) % 3)))
        return self.values[-1]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[History, list[str]]:
    """Slower from commit 7 on, and again from commit 12; commit 11 cannot be measured."""
    contents = [*["1.0\n"] * 7, *["1.3\n"] * 4, BROKEN, "1.6\n"]
    return make_history(tmp_path_factory.mktemp("git") / "repo", contents.__getitem__)


@pytest.fixture
def bisect(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: tuple[History, list[str]]
) -> Iterator[RunCommand]:
    """`nightly bisect` in that history, without processes."""
    monkeypatch.setattr(plan, "Worker", Reading)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine.toml").write_text(SUITE)
    before = made[0].state()
    given = ["--repo", str(made[0].folder), "--suite", "mine.toml"]
    yield lambda *words: normbench("nightly", "bisect", *given, *words)
    assert made[0].state() == before
    assert not list(tmp_path.glob("normbench-bisect-*"))


def test_the_planted_commit_is_named(bisect: RunCommand, made: tuple[History, list[str]]) -> None:
    hashes = made[1]
    ended = bisect(MEASUREMENT, "--good", hashes[0], "--bad", hashes[10], "--json")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert [commit["hash"] for commit in found["first"]] == [hashes[7]]
    assert found["confirmed"] is True
    assert found["ratio"]["median"] == pytest.approx(1.3)


def test_the_table_has_the_commits_in_the_order_of_the_history(
    bisect: RunCommand, made: tuple[History, list[str]]
) -> None:
    short = [commit[:10] for commit in made[1]]
    ended = bisect(MEASUREMENT, "--good", short[0], "--bad", short[10])
    assert ended.code == 0
    for part in (f"{made[1][7]} is the first changed commit", "A. Author", "commit 7", "1.3 [1.3"):
        assert part in ended.out
    table = [line.split()[0] for line in ended.out.split("\n\n")[0].splitlines()]
    measured = [short.index(commit) for commit in table if commit in short]
    assert measured == sorted(measured)
    assert (measured[0], measured[-1]) == (0, 10)
    assert "11 commits" in ended.err


def test_a_commit_that_cannot_be_measured_is_left_out_and_named(
    bisect: RunCommand, made: tuple[History, list[str]]
) -> None:
    hashes = made[1]
    ended = bisect(MEASUREMENT, "--good", hashes[10], "--bad", hashes[12])
    assert ended.code == 5
    assert "ModuleNotFoundError: a_module_that_nobody_has" in ended.out
    assert f"one of {hashes[11][:10]}, {hashes[12][:10]}" in ended.out


def test_ends_that_do_not_differ_are_said_to(bisect: RunCommand, made: tuple[History, list[str]]) -> None:
    ended = bisect(MEASUREMENT, "--good", made[1][0], "--bad", made[1][2])
    assert ended.code == 4
    assert "It is not certain that the ends differ" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--good", "HEAD~1"], "it is not known between which commits it changed; give the commits"),
        (["--good", "HEAD", "--bad", "HEAD"], "the code was the same"),
        (["--good", "HEAD~1", "--bad", "nowhere"], "'nowhere' is not a commit"),
        (["--good", "HEAD", "--bad", "HEAD~1"], "exchange them"),
        (["--suite", "canari", "--good", "HEAD~1", "--bad", "HEAD"], "did you mean 'canary'?"),
    ],
)
def test_wrong_words_are_one_line(bisect: RunCommand, words: list[str], message: str) -> None:
    ended = bisect(MEASUREMENT, *words)
    assert ended.code == 2
    assert message in ended.err


def test_without_nights_a_measurement_has_to_be_named(bisect: RunCommand) -> None:
    assert "name a measurement" in bisect("--good", "HEAD~1", "--bad", "HEAD").err
    assert "there is no measurement 'layer'; write a cell and a metric" in bisect("layer").err


def planted_norm(number: int) -> str:
    """Much more work from commit 7 on, so that a busy machine sees it, too; commit 4 cannot be imported."""
    return BROKEN if number == 4 else NORM.format(times=90 if number >= 7 else 3)


@pytest.mark.slow
def test_real_measurements_find_the_planted_commit_of_a_plugin(
    normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, hashes = make_history(tmp_path / "repo", planted_norm)
    before = history.state()
    (tmp_path / "mine.toml").write_text(SUITE)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = ["--repo", "repo", "--suite", "mine.toml", "--allow", "theirs", "--good", hashes[0], "--bad", "main"]
    ended = normbench("nightly", "bisect", MEASUREMENT, *given, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert [commit["subject"] for commit in found["first"]] == ["commit 7"]
    assert found["ratio"]["low"] > 1.5
    assert history.state() == before
    assert not (tmp_path / "home" / "normbench.db").exists(), "measuring processes have databases of their own"
    assert not list(tmp_path.glob("normbench-bisect-*"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_bisection_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    history, hashes = make_history(tmp_path / "repo", planted_norm)
    before = history.state()
    (tmp_path / "mine.toml").write_text(SUITE)
    (places := tmp_path / "temporary").mkdir()
    given = ["--repo", "repo", "--suite", "mine.toml", "--allow", "theirs", "--good", hashes[0], "--bad", "main"]
    command = [sys.executable, "-m", "normbench_cli", "nightly", "bisect", MEASUREMENT, *given]
    process = subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(places)}, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    while not list(places.glob("normbench-bisect-*/*/home/normbench.db")):  # its first measuring process is at work
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert not list(places.iterdir())
    assert history.state() == before
    assert not measuring(places)


def measuring(places: Path) -> list[int]:
    """Processes that work in this folder."""
    import psutil

    processes = psutil.process_iter(["pid", "environ"])
    return [p.pid for p in processes if str(places) in (p.info["environ"] or {}).get("NORMBENCH_HOME", "")]
