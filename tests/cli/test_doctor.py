"""normbench doctor: finds what works, and lists what does not with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli import fast_paths
from normbench_cli.experiments import doctor
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
