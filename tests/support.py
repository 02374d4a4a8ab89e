"""What several test modules share: how a command ended, and the type of the fixture that runs one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass
class CommandResult:
    """How a command ended."""

    code: int
    out: str
    err: str


class RunCommand(Protocol):
    """`normbench("train", "--epochs", "1")` runs the command line in this process."""

    def __call__(self, *words: str) -> CommandResult: ...


def recorded_in(home: Path) -> list[str]:
    """What a command has left in its home; torch's compile cache is no record."""
    return sorted(path.name for path in home.glob("*") if path.name != "compiled")
