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
from tests import migrated
from tests.postgres import TEMPLATE, Server, running_server
from tests.support import CommandResult, RunCommand, command_tree

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores; read when torch is imported
settings.register_profile("any machine", deadline=None)  # however busy it is
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def migrations() -> None:
    """Every migration is run once, for all the databases that tests create."""
    migrated.statements()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """NORMBENCH_HOME in a fresh folder, which is also the working folder."""
    folder = tmp_path / "home"
    if not {"slow", "benchmark"} & {mark.name for mark in request.node.iter_markers()}:
        # in a fresh home every kernel would be compiled anew
        monkeypatch.setenv("NORMBENCH_COMPILE", "never")
    monkeypatch.setenv("NORMBENCH_HOME", str(folder))
    monkeypatch.delenv("NORMBENCH_DB", raising=False)
    monkeypatch.setattr("normbench_cli.store.connection.SYNCHRONOUS", "OFF")  # no test needs to survive a power cut
    monkeypatch.setattr("normbench_cli.store.upgrade.migrate", migrated.create_or_migrate)
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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server with an empty database at the newest schema."""
    from normbench_cli.store import upgrade
    from normbench_cli.store.location import parse_location

    with running_server() as server:
        server.execute(f"CREATE DATABASE {TEMPLATE}")
        upgrade.upgrade(parse_location(server.url(TEMPLATE)))
        yield server


@pytest.fixture
def postgres_database(postgres_server: Server) -> Iterator[str]:
    """The URL of a new PostgreSQL database at the newest schema."""
    name = postgres_server.new_database(TEMPLATE)
    yield postgres_server.url(name)
    postgres_server.drop(name)


@pytest.fixture
def normbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[RunCommand]:
    """Run a command in this process, as the program itself would: `normbench("train", "--epochs", "1")`."""
    restored: dict[int, Any] = {}

    def run(*words: str) -> CommandResult:
        from normbench_cli.cli.main import main

        for number in interrupts.SIGNALS:  # main sets handlers for good
            restored.setdefault(number, signal.getsignal(number))
        monkeypatch.setattr(sys, "argv", ["normbench", *words])
        monkeypatch.setattr("normbench_cli.cli.main.app", command_tree())
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return CommandResult(int(stop.value.code or 0), printed.out, printed.err)

    yield run
    for number, handler in restored.items():
        signal.signal(number, handler)
