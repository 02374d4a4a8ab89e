"""Nights run by a real cron daemon, by the line that is printed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NIGHTS = 3
MINUTES = 20  # a night of seconds may take a minute on a busy machine
SUITE = """
[train.mlp]
norm = "batchnorm"
data = "digits:size=8"
model = "mlp:width=8"
device = "cpu"
compile = false
iterations = 3
batch_size = 16
"""


def why_not() -> str:
    """Why no cron can be tried here, or empty."""
    if not shutil.which("cron") or not shutil.which("crontab"):
        return "there is no cron daemon here"
    if os.geteuid() != 0:
        return "only root may start a cron daemon"
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False)
    return "" if listed.returncode else "this user has a crontab, which stays as it is"


@contextmanager
def cron_with(table: str, tmp_path: Path) -> Iterator[None]:
    """This crontab, and a cron daemon if none is running."""
    file = tmp_path / "table"
    file.write_text(table)
    subprocess.run(["crontab", str(file)], check=True)
    daemon = subprocess.Popen(["cron", "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run(["crontab", "-r"], check=False)
        daemon.terminate()
        daemon.wait(timeout=60)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60 * MINUTES
    while not true():
        assert time.monotonic() < end, f"not within {MINUTES} minutes"
        time.sleep(1)


def ended(home: Path) -> int:
    """How many nights have written their pages: the last thing that a night does is to log its verdict."""
    log = home / "logs" / "nightly.log"
    return log.read_text().count(" info: tiny ") if log.exists() else 0


def statuses(database: Path) -> list[str]:
    if not database.exists():
        return []
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60) as connection:
        try:
            return [status for (status,) in connection.execute("SELECT state FROM nights")]
        except sqlite3.OperationalError:  # the tables are being made
            return []


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_three_nights_run_by_cron_as_the_line_is_printed(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / """50% of "my" nights"""
    folder.mkdir()
    (folder / "tiny.toml").write_text(SUITE)
    words = [sys.executable, "-m", "normbench_cli", "nightly", "--suite", "tiny.toml", "--print-cron"]
    root = str(Path(__file__).parents[2])
    printed = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": root}
    ).stdout
    (line,) = [line for line in printed.splitlines() if re.match(r"\d", line)]
    every_minute = re.sub(r"^\S+ \S+ ", "* * ", line)
    database = home / "normbench.db"
    with cron_with(f"{every_minute}\n", tmp_path):
        wait_until(lambda: ended(home) >= NIGHTS)
    wait_until(lambda: statuses(database) == ["finished"] * ended(home))
    pages = sorted((folder / "reports").glob("nightly-*.md"))
    assert len(pages) == statuses(database).count("finished")
    index = (folder / "reports" / "index.html").read_text()
    assert all(f'href="{page.stem}.html"' in index for page in pages)
    log = (home / "logs" / "nightly.log").read_text()
    assert all(f"; {page}" in log for page in pages)
