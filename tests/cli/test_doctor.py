"""normbench doctor: finds what works, and lists what does not with a remedy."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from normbench_cli import fast_paths
from normbench_cli.experiments import doctor, doctor_cache
from tests.support import RunCommand


@pytest.fixture
def compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first compilation takes a good part of a minute."""
    monkeypatch.setattr(fast_paths, "fallbacks", lambda: ["linear layers use torch's product: no operator"])
    monkeypatch.setattr(doctor, "check_compiler", lambda: doctor.Finding(True, "torch.compile fails: RuntimeError"))


@pytest.mark.slow
def test_doctor_finds_no_problem(normbench: RunCommand) -> None:
    ended = normbench("doctor", "--json")
    assert ended.code == 0
    checks = json.loads(ended.out)
    assert {"torch", "device", "home", "database", "data"} <= set(checks)
    assert all(check["ok"] for check in checks.values())
    assert checks["compiler"]["what"] == "torch.compile works"
    assert checks["fast paths"]["what"] == "all work"


def test_what_falls_back_is_listed_and_no_problem(normbench: RunCommand, compiles_nothing: None) -> None:
    ended = normbench("doctor")
    assert ended.code == 0
    assert "linear layers use torch's product: no operator" in ended.out
    assert "torch.compile fails: RuntimeError" in ended.out


def test_an_unwritable_home_is_a_problem(normbench: RunCommand, home: Path, compiles_nothing: None) -> None:
    home.write_text("a file where the folder should be")
    ended = normbench("doctor", "--json")
    assert ended.code == 1
    check = json.loads(ended.out)["home"]
    assert not check["ok"]
    assert "NORMBENCH_HOME" in check["do"]


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compiles at once; what was tried."""
    tried: list[str] = []

    def check_compiler() -> doctor.Finding:
        tried.append("compiler")
        return doctor.Finding(True, "torch.compile works")

    monkeypatch.setattr(fast_paths, "fallbacks", list)
    monkeypatch.setattr(doctor, "check_compiler", check_compiler)
    return tried


def test_what_compiled_is_remembered_until_something_changes(
    home: Path, compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        assert doctor.examine()["compiler"] == (True, "torch.compile works", "")
        assert doctor.examine()["fast paths"] == (True, "all work", "")
    assert compiles == ["compiler"]
    monkeypatch.setenv("CXX", "another")
    doctor.examine()
    assert compiles == ["compiler"] * 2
    doctor_cache.file().write_text("{")
    doctor.examine()
    assert compiles == ["compiler"] * 3


def test_a_failure_is_not_remembered(home: Path, compiles: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_paths, "fallbacks", lambda: ["slower"])
    doctor.examine()
    doctor.examine()
    assert compiles == ["compiler"] * 2
    assert not doctor_cache.file().exists()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE runs SET started_at = 'soon'", "column started_at is 'soon', not a time"),
        ("UPDATE metrics SET value = 'high'", "column value is 'high', not a number"),
        ("DROP TABLE metrics", "no such table: metrics"),
    ],
)
def test_a_damaged_database_is_reported(
    normbench: RunCommand, enter: Callable[..., str], home: Path, compiles: list[str], damage: str, says: str
) -> None:
    enter(0.5)
    with closing(sqlite3.connect(home / "normbench.db")) as connection:
        connection.execute(damage)
        connection.commit()
    ended = normbench("doctor", "--json")
    check = json.loads(ended.out)["database"]
    assert (ended.code, check["ok"]) == (1, False)
    assert says in check["what"] + check["do"]


def test_a_check_that_breaks_is_a_finding(home: Path, compiles: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "check_data", lambda: 1 / 0)
    found = doctor.examine()
    assert found["data"] == (False, "ZeroDivisionError: division by zero", "this check cannot be made here")
    assert found["database"].ok


def test_a_disk_that_is_nearly_full_is_a_problem(
    home: Path, compiles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "free_bytes", lambda place: 2**20 if place == home else 2**40)
    ok, found, remedy = doctor.examine()["disk"]
    assert (ok, found) == (False, f"0.0 GiB free at {home}")
    assert remedy.startswith("free space there")
    monkeypatch.setattr(doctor, "free_bytes", lambda place: 2**40)
    assert doctor.examine()["disk"].ok


@pytest.mark.benchmark
def test_a_second_doctor_takes_less_than_three_seconds(home: Path) -> None:
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        subprocess.run([sys.executable, "-m", "normbench_cli", "doctor"], check=True, capture_output=True)
        seconds.append(time.monotonic() - start)
    print("seconds of the first doctor and of later ones:", seconds)
    assert min(seconds[1:]) < 3
