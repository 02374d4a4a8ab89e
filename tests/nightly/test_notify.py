"""A command that gets the verdict: it has it on stdin, and nothing it does stops the night."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from normbench_cli.nightly.notify import notify

VERDICT = {"outcome": "regression", "line": "canary: é"}


def test_the_verdict_is_on_stdin(tmp_path: Path) -> None:
    assert notify(f"cat > {tmp_path}/got", VERDICT, tmp_path) == ""
    assert json.loads((tmp_path / "got").read_text()) == VERDICT
    assert [path.name for path in tmp_path.iterdir()] == ["got"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo first; echo no such channel >&2; exit 3", "--notify ended with exit code 3: no such channel"),
        ("exit 1", "--notify ended with exit code 1"),
        ("\0", "--notify could not run: embedded null byte"),
    ],
)
def test_a_failure_is_one_sentence(tmp_path: Path, command: str, said: str) -> None:
    assert notify(command, VERDICT, tmp_path) == said


def test_a_command_that_reads_nothing_is_fine(tmp_path: Path) -> None:
    assert notify("true", {"long": "x" * 10**6}, tmp_path) == ""


def test_a_command_that_hangs_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    command = f"echo waiting; sleep 60 & echo $! > {tmp_path}/pid; wait"
    assert notify(command, VERDICT, tmp_path, timeout=0.5) == "--notify was stopped after 0.5 s: waiting"
    assert is_over(int((tmp_path / "pid").read_text()))


def test_what_a_command_leaves_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    assert notify(f"sleep 20 & echo $! > {tmp_path}/pid", VERDICT, tmp_path, timeout=15) == ""
    os.kill(int((tmp_path / "pid").read_text()), 9)


def is_over(pid: int) -> bool:
    """Whether a process has ended, or does within some seconds."""
    for _ in range(50):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False
