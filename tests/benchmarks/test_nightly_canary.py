"""Twelve nights of the suite `canary`, with a slowdown planted in one layer: run alone, it measures time."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from normbench_cli.nightly.run import run_night
from normbench_cli.nightly.suite import find_suite
from tests.nightly.in_process import measure_here
from tests.nightly.planted import FILE
from tests.support import CommandResult, RunCommand

PLANTED = '\n[profile.planted]\nnorm = "tests.nightly.planted:Planted"\nshapes = ["32x64x16x16"]\nrounds = 25\n'
TIME = "planted time_vs_batchnorm@32x64x16x16"
QUIET, PASSES = 10, 8


@pytest.mark.benchmark
def test_twelve_nights_find_a_planted_slowdown_and_its_end(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "canary12.toml").write_text(find_suite("canary").read_text() + PLANTED)

    def night(number: int) -> CommandResult:
        today = datetime(2026, 3, 1, 4, 10) + timedelta(days=number)
        measured = partial(run_night, today=lambda: today, measure=measure_here)
        monkeypatch.setattr("normbench_cli.nightly.run.run_night", measured)
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
