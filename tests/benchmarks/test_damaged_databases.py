"""A thousand damaged databases: every command ends by contract, within 20 seconds.

    pytest -m benchmark tests/benchmarks/test_damaged_databases.py

NORMBENCH_DAMAGES sets another number of them, NORMBENCH_FIRST_DAMAGE the seed of the first.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import normbench_cli.experiments.evaluate  # noqa: F401  loaded before the clock runs
from tests.cli.test_damaged_database import COMMANDS, sound, survive
from tests.support import CommandResult, RunCommand

__all__ = ["sound"]  # a fixture
WAYS = int(os.environ.get("NORMBENCH_DAMAGES", "1000"))
FIRST = int(os.environ.get("NORMBENCH_FIRST_DAMAGE", "0"))
MOST_SECONDS = 20
MORE_COMMANDS = (
    *COMMANDS,
    ["eval", "RUN"],
    ["train", "--resume", "RUN"],
)


@pytest.mark.benchmark
def test_a_thousand_damages(normbench: RunCommand, sound: tuple[Path, list[str]], home: Path) -> None:
    slowest = 0.0

    def timed(*words: str) -> CommandResult:
        nonlocal slowest
        start = time.monotonic()
        ended = normbench(*words)
        seconds = time.monotonic() - start
        assert seconds < MOST_SECONDS, words
        slowest = max(slowest, seconds)
        return ended

    for seed in range(FIRST, FIRST + WAYS):
        survive(timed, sound, home, seed, MORE_COMMANDS, some=3)
    print(f"{WAYS} damages, slowest command {slowest:.1f} s")
