"""normbench doctor: finds what works, and lists what does not with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli import fast_paths
from tests.support import RunCommand


def test_doctor_finds_no_problem(normbench: RunCommand) -> None:
    ended = normbench("doctor", "--json")
    assert ended.code == 0
    checks = json.loads(ended.out)
    assert {"torch", "device", "fast paths", "compiler", "home", "database", "data"} <= set(checks)
    assert all(check["ok"] for check in checks.values())


def test_doctor_lists_the_fast_paths_that_fell_back(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_paths, "fallbacks", lambda: ["linear layers use torch's product: no operator"])
    ended = normbench("doctor")
    assert ended.code == 0
    assert "linear layers use torch's product: no operator" in ended.out


def test_an_unwritable_home_is_a_problem(normbench: RunCommand, home: Path) -> None:
    home.write_text("a file where the folder should be")
    ended = normbench("doctor", "--json")
    assert ended.code == 1
    check = json.loads(ended.out)["home"]
    assert not check["ok"]
    assert "NORMBENCH_HOME" in check["do"]
