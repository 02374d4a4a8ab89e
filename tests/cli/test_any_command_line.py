"""Any command line, however wrong: an exit code of the contract, one line of error, no traceback, nothing elsewhere."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench_cli import interrupts
from normbench_cli.config import make_config
from normbench_cli.store import Store
from tests.fuzzing import Sandbox, command_lines, environment, run_here

TINY = ["--data", "digits:size=8", "--model", "mlp:width=8", "--batch-size", "64", "--iterations", "1"]


def no_network(*args: Any, **kwargs: Any) -> None:
    raise OSError("there is no network here")


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A sandbox whose home has a finished run and an interrupted one."""
    made = Sandbox(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr("socket.socket.connect", no_network)
    monkeypatch.setattr("socket.getaddrinfo", no_network)
    monkeypatch.chdir(made.work)
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    (trained,) = json.loads(run_here(["train", *TINY, "--json"])[1])["runs"]
    with Store.open() as store:
        stopped = store.begin(make_config({"data": "digits:size=8", "model": "mlp"}).to_dict(), "f" * 16, {}, argv=[])
        store.end(stopped, "interrupted")
    made.run_ids = [trained["id"], trained["id"][:4], stopped]
    shutil.copytree(tmp_path / "home", tmp_path / "home as it was")
    yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def restore(sandbox: Sandbox) -> None:
    """The home and the working folder as they were."""
    shutil.rmtree(sandbox.root / "home")
    shutil.copytree(sandbox.root / "home as it was", sandbox.root / "home")
    for path in sandbox.work.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def run_all(sandbox: Sandbox, seed: int, count: int, longest: float = float("inf")) -> list[str]:
    """Run so many command lines; a line for each that breaks a rule."""
    broken = []
    for number, words in enumerate(command_lines(seed, count, sandbox.run_ids)):
        began = time.monotonic()
        rules = sandbox.run(words)
        seconds = time.monotonic() - began
        rules += [f"{seconds:.0f} s"] if seconds > longest else []
        if rules:
            broken.append(f"normbench {shlex.join(words)[:500]!r}: {'; '.join(rules)[:500]}")
        if rules or number % 20 == 0 or words[:2] == ["runs", "rm"]:
            restore(sandbox)
    return broken


def test_300_random_command_lines(sandbox: Sandbox) -> None:
    broken = run_all(sandbox, seed=1, count=300)
    assert not broken, "\n".join(broken)


@pytest.mark.benchmark
@pytest.mark.parametrize("seed", range(10))
def test_3000_random_command_lines(sandbox: Sandbox, seed: int) -> None:
    broken = run_all(sandbox, seed=100 + seed, count=300, longest=20)
    assert not broken, "\n".join(broken)
