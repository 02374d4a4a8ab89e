"""Every test has a home of its own, so none touches what a person has recorded."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from normbench_cli import interrupts
from tests.support import CommandResult, RunCommand

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores; read when torch is imported
settings.register_profile("any machine", deadline=None)  # however busy it is
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """NORMBENCH_HOME in a fresh folder, which is also the working folder."""
    folder = tmp_path / "home"
    monkeypatch.setenv("NORMBENCH_HOME", str(folder))
    monkeypatch.delenv("NORMBENCH_DB", raising=False)
    monkeypatch.setattr("normbench_cli.store.connection.SYNCHRONOUS", "OFF")  # no test needs to survive a power cut
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(scope="session")
def filled_homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    return {}


@pytest.fixture
def fill_once(
    home: Path, filled_homes: dict[str, tuple[Path, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[], Any]], Any]:
    """Fills the home by calling a function, which returns what it made; later tests get a copy of that home."""

    def fill(make: Callable[[], Any]) -> Any:
        key = f"{make.__module__}.{make.__qualname__}"
        if key not in filled_homes:
            value, kept = make(), tmp_path_factory.mktemp("filled") / "home"
            shutil.copytree(home, kept)
            filled_homes[key] = kept, value
        else:
            shutil.copytree(filled_homes[key][0], home, dirs_exist_ok=True)
        return copy.deepcopy(filled_homes[key][1])

    return fill


@pytest.fixture
def normbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[RunCommand]:
    """Run a command in this process, as the program itself would: `normbench("train", "--epochs", "1")`."""
    restored: dict[int, Any] = {}

    def run(*words: str) -> CommandResult:
        from normbench_cli.cli.main import main

        for number in interrupts.SIGNALS:  # main sets handlers for good
            restored.setdefault(number, signal.getsignal(number))
        monkeypatch.setattr(sys, "argv", ["normbench", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return CommandResult(int(stop.value.code or 0), printed.out, printed.err)

    yield run
    for number, handler in restored.items():
        signal.signal(number, handler)
