"""A worker changes the process that it is in; here that is the test's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def restored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(home / "data"))
    monkeypatch.setattr(sys, "argv", ["normbench", "train", "--seeds", "0-2"])
    monkeypatch.setattr(sys, "path", [*sys.path])
