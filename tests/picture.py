"""Makes the README's picture again: commands and what a terminal shows of them, in reports/terminal.svg.

``python -m tests.picture`` trains a grid of twelve short runs in a home of its own, which takes some minutes.
"""

from __future__ import annotations

import io
import os
import pty
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
GRID = "train --norm batchnorm,popnorm --act relu,sigmoid --seeds 0-2 -q"
SHOWN = ["train --norm popnorm --act sigmoid -q", "report --metric train/loss --metric test/accuracy --at 50%"]
TARGET = Path(__file__).parents[1] / "reports" / "terminal.svg"


def on_a_terminal(command: str, home: str) -> str:
    """What a command writes to stdout, with its colours."""
    ours, theirs = pty.openpty()
    env = os.environ | {"NORMBENCH_HOME": home, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", "normbench_cli", *shlex.split(command)]
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, env=env, cwd=home) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux says so when the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, command
    return b"".join(parts).decode().replace("\r\n", "\n")


def main() -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    with tempfile.TemporaryDirectory() as home:
        outputs = {SHOWN[0]: on_a_terminal(SHOWN[0], home)}
        on_a_terminal(GRID, home)
        outputs[SHOWN[1]] = on_a_terminal(SHOWN[1], home)
    for command, output in outputs.items():
        console.print(Text.assemble(("$ ", "dim"), (f"normbench {command}", "bold")))
        console.print(Text.from_ansi(output))
    console.save_svg(str(TARGET), title="normbench")


if __name__ == "__main__":
    main()
