"""Twelve nights of the suite `canary`, with a slowdown planted in one layer: run alone, it measures time."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from normbench_cli.nightly.cell_process import Measure, measure_in_process
from normbench_cli.nightly.run import run_night
from normbench_cli.nightly.suite import find_suite
from tests.nightly.in_process import measure_here
from tests.nightly.planted import FILE
from tests.support import CommandResult, RunCommand

PLANTED = '\n[profile.planted]\nnorm = "tests.nightly.planted:Planted"\nshapes = ["32x64x16x16"]\nrounds = 25\n'
MEMORY = "\n[minimum_effects]\nmemory = 0.9\n"  # that of one process, which measures all, only grows
TIME = "planted time_vs_batchnorm@32x64x16x16"
QUIET, PASSES = 10, 8


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("measure", "more"),
    [(measure_here, PLANTED + MEMORY), (measure_in_process, PLANTED)],
    ids=["in one process", "in a process each"],
)
def test_twelve_nights_find_a_planted_slowdown_and_its_end(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, measure: Measure, more: str
) -> None:
    """In one process a night takes half a minute; in a process for each cell, as cron runs it, two to three minutes."""
    (tmp_path / "canary12.toml").write_text(find_suite("canary").read_text() + more)

    def night(number: int) -> CommandResult:
        today = datetime(2026, 3, 1, 4, 10) + timedelta(days=number)
        monkeypatch.setattr("normbench_cli.nightly.run.run_night", partial(run_night, today=lambda: today))
        monkeypatch.setattr("normbench_cli.nightly.remote.measured_by", lambda _: nullcontext(measure))
        ended = normbench("nightly", "--suite", "canary12.toml", "--allow", "tests")
        print(f"exit {ended.code}: {ended.out.strip()} {ended.err.strip()}")
        return ended

    for number in range(QUIET):
        assert night(number).code == 0
    FILE.write_text(str(PASSES))
    slow = night(QUIET)
    assert slow.code == 3
    assert f"1 regression ({TIME}" in slow.out
    assert "since 2026-03-11" in slow.out
    page = (tmp_path / "reports" / "nightly-2026-03-11.md").read_text()
    assert TIME in page
    assert "2026-03-11" in page
    FILE.unlink()
    gone = night(QUIET + 1)
    assert gone.code == 0
    assert "1 improved" in gone.out
