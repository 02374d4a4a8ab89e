"""A series that unpacks to ten gigabytes: one line, and little memory."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no file says how much memory was used")
MOST_MEMORY = 500e6
CODE = r"""
import pathlib, re, sys
from normbench_cli.cli.main import main
sys.argv = ["normbench", *{words}]
try:
    main()
finally:
    most = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())
    print(int(most[1]) * 1024)
"""


def bomb(size: int, part: int = 2**24) -> bytes:
    """Zeros of this size, packed: one packed part, repeated."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(part)) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = packer.compress(bytes(part)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + repeated * (size // part - 1)


@pytest.mark.parametrize(
    "honest", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["another count", "its own count"]
)
@pytest.mark.parametrize("command", [["report", "--curve", "lr"], ["db", "check"]], ids=" ".join)
def test_a_bomb_is_one_line(enter: Callable[..., str], home: Path, command: list[str], honest: bool) -> None:
    run_id = enter(0.5)
    size = 10 * 2**30
    with closing(sqlite3.connect(home / "normbench.db")) as connection:
        row = [run_id, "lr", 0, size // 4 if honest else 20, bomb(size)]
        connection.execute("INSERT INTO samples (run_id, name, first_step, count, data) VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(words=command)], capture_output=True, text=True, env=os.environ
    )
    assert "Traceback" not in done.stderr
    assert int(done.stdout.split()[-1]) < MOST_MEMORY
    named = [line for line in (done.stdout + done.stderr).splitlines() if run_id in line]
    assert len([line for line in named if "without a checkpoint" not in line]) == 1
    assert ("2,684,354,560" if honest else "unpacks to more than its 20 values") in named[0]
