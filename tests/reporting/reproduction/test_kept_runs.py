"""Runs that were exported come back by `db merge`: the suite goes on where it stopped, and nothing is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import RunCommand

STUDY = """
title = "Two norms"
metric = "test/accuracy"
unit = "%"
seeds = "0-1"

[settings]
data = "digits:size=8"
model = "mlp:width=16,depth=2,size=8"
batch_size = 32
iterations = 40

[rows]
BN = { norm = "batchnorm" }
POP = { norm = "popnorm" }

[columns]
once = {}

[scales.short]
iterations = 2
seeds = "0"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def rows_of(tmp_path: Path, out: str) -> list[str]:
    text = (tmp_path / out / "reproduce-study-short.csv").read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_is_not_recorded_can_be_shown_without_a_run(normbench: RunCommand, study: Path, tmp_path: Path) -> None:
    assert normbench("db", "upgrade").code == 0
    ended = normbench("reproduce", "study.toml", "--scale", "full", "--no-run", "--format", "md,csv", "--out", "shown")
    assert (ended.code, "0 of 4 runs are recorded" in ended.err) == (4, True)
    page = (tmp_path / "shown" / "reproduce-study-full.md").read_text()
    assert "Runs still needed" in page


@pytest.mark.slow
def test_kept_runs_are_not_run_again(normbench: RunCommand, study: Path, tmp_path: Path) -> None:
    page = ["reproduce", "study.toml", "--scale", "short", "--format", "md,csv"]
    first = normbench(*page, "--out", "first")
    assert "0 of 2 runs are recorded; 2 are left" in first.err
    assert "schedules: 2 of 40 iterations" in first.err
    assert normbench("db", "export", "kept", "--format", "sqlite", "--series").code == 0
    elsewhere = ["--db", str(tmp_path / "elsewhere.db")]
    assert normbench("db", "merge", "kept", *elsewhere).code == 0
    again = normbench(*page, "--out", "again", *elsewhere)
    assert (again.code, "2 of 2 runs are recorded" in again.err, "left" in again.err) == (0, True, False)
    assert rows_of(tmp_path, "again") == rows_of(tmp_path, "first")
    study.write_text(STUDY.replace("[columns]", 'LN = { norm = "layernorm" }\n\n[columns]'))
    shown = normbench(*page, "--out", "shown", "--no-run", *elsewhere)
    assert (shown.code, "2 of 3 runs are recorded" in shown.err, "left" in shown.err) == (5, True, False)
    assert "not run" in (tmp_path / "shown" / "reproduce-study-short.md").read_text()
