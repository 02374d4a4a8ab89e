"""What several test modules share: how a command ended, and the type of the fixture that runs one."""

from __future__ import annotations

from dataclasses import dataclass
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
