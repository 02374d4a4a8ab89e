"""What several test modules share: running a command, a tiny training, and what is left in a home."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from normbench_cli.store import Store

if TYPE_CHECKING:
    from normbench_cli.experiments.result import RunResult


@dataclass
class CommandResult:
    """How a command ended."""

    code: int
    out: str
    err: str


class RunCommand(Protocol):
    """`normbench("train", "--epochs", "1")` runs the command line in this process."""

    def __call__(self, *words: str) -> CommandResult: ...


@cache
def command_tree() -> Any:
    """The program's commands, which typer would make anew for each command line: most of the time of a short one."""
    from typer.main import get_command

    from normbench_cli.cli.main import app

    return get_command(app)


def recorded_in(home: Path) -> list[str]:
    """What a command has left in its home; torch's compile cache is no record."""
    return sorted(path.name for path in home.glob("*") if path.name != "compiled")


TINY = ["--data", "digits:size=8", "--iterations", "2", "--batch-size", "64", "-q"]  # a training of a second


def train(normbench: RunCommand, *words: str) -> list[dict[str, Any]]:
    """Train the tiny run with further options; the runs as JSON."""
    ended = normbench("train", *TINY, *words, "--json")
    assert ended.code == 0, ended.err
    runs: list[dict[str, Any]] = json.loads(ended.out)["runs"]
    return runs


def recorded_details(run: RunResult) -> dict[str, Any]:
    """What is recorded of a run's making."""
    with Store.open() as store:
        return store.find(run.id).details
