"""How long --help takes, beside the smallest program that typer can make.

Measured as processor time of whole processes that take turns: 0.143 s against 0.124 s for the program, 0.272 s against
0.202 s for `train` (two cores of an Intel Xeon, n=20).
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

HELLO = """
import typer
app = typer.Typer()
@app.command()
def hello(name: str = "you") -> None:
    print(name)
@app.command()
def bye() -> None:
    print("bye")
app()
"""
ROUNDS = 15


def processor_seconds(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words, "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.benchmark
@pytest.mark.parametrize(("command", "hello"), [((), ()), (("train",), ("hello",))], ids=["normbench", "train"])
def test_help_takes_at_most_half_as_long_again_as_a_hello_world(
    tmp_path: Path, command: tuple[str, ...], hello: tuple[str, ...]
) -> None:
    program = tmp_path / "hello.py"
    program.write_text(HELLO)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(processor_seconds("-m", "normbench_cli", *command))
        theirs.append(processor_seconds(str(program), *hello))
    assert median(ours) <= 1.5 * median(theirs)
