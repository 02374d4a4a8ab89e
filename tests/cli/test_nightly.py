"""`normbench nightly`: what it prints, and how it ends.  The cells take no time here."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.nightly.cell_process import CellFailed
from normbench_cli.nightly.lock import night_lock
from normbench_cli.nightly.run import run_night
from normbench_cli.nightly.suite import read_suite
from tests.nightly.support import TIME, Measuring, on, usual
from tests.support import CommandResult, RunCommand

SUITE = '[profile.layer]\nnorms = ["popnorm", "augnorm", "groupnorm", "batchnorm"]\nshapes = ["8x8"]\n'
SLOW = "layer/augnorm"
Night = Callable[..., CommandResult]


@pytest.fixture
def night(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Night:
    """``night(3, slow=1.4)``: the command in the third night, with a cell so many times as slow."""
    (tmp_path / "mine.toml").write_text(SUITE)

    def call(number: int, *words: str, slow: float = 1.0, **changed: Any) -> CommandResult:
        values = usual(read_suite("mine.toml"), number, **{SLOW: slow}) | changed
        monkeypatch.setattr("normbench_cli.nightly.run.run_night", partial(run_night, today=on(number)))
        monkeypatch.setattr("normbench_cli.nightly.remote.measured_by", lambda _: nullcontext(Measuring(values)))
        return normbench("nightly", "--suite", "mine.toml", *words)

    return call


def test_a_fine_night_is_one_line_and_nothing_else(night: Night, tmp_path: Path) -> None:
    ended = night(0)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("mine 2026-03-01: fine, 8 measurements, 8 with a new baseline; ")
    assert ended.out.count("\n") == 1
    assert (tmp_path / "reports" / "nightly-2026-03-01.md").exists()
    assert (tmp_path / "reports" / "index.html").exists()


def test_with_quiet_a_fine_night_prints_nothing(night: Night) -> None:
    ended = night(0, "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_slowdown_is_reported_until_it_is_gone(night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without_pages:
        without_pages.setattr("normbench_cli.nightly.run.try_pages", lambda *_: ([], []))
        lines = [night(number, "--quiet") for number in range(5)]
    assert {(line.code, line.out) for line in lines} == {(0, "")}
    slow = night(5, "--quiet", "--out", "pages", slow=1.35)
    assert slow.code == 3
    assert slow.out.startswith(f"mine 2026-03-06: 1 regression ({SLOW} {TIME} +3")
    assert "since 2026-03-06" in slow.out
    page = (tmp_path / "pages" / "nightly-2026-03-06.md").read_text()
    assert SLOW in page
    monkeypatch.setattr("normbench_cli.nightly.run.try_pages", lambda *_: ([], []))
    assert night(6, slow=1.35).code == 3, "it is reported until somebody accepts it, or it is gone"
    gone = night(7)
    assert gone.code == 0
    assert "1 improved" in gone.out


def test_json_is_one_document_with_the_verdict(night: Night) -> None:
    ended = night(0, "--json")
    verdict = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert (verdict["suite"], verdict["day"], verdict["outcome"]) == ("mine", "2026-03-01", "fine")
    assert len(verdict["findings"]) == 8


def test_a_failed_cell_makes_the_night_incomplete(night: Night) -> None:
    ended = night(0, **{SLOW: CellFailed("no memory")})
    assert ended.code == 5
    assert "1 cell failed" in ended.out


def test_a_night_without_any_measurement_has_its_own_code(night: Night) -> None:
    failed = {cell: CellFailed("no compiler") for cell in usual(read_suite("mine.toml"))}
    assert night(0, **failed).code == 4


def test_an_interrupted_night_says_how_to_go_on(night: Night) -> None:
    ended = night(0, **{SLOW: KeyboardInterrupt})
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "normbench: interrupted; the same command continues the night today\n"


def test_while_another_process_measures_one_line_says_who(night: Night) -> None:
    with night_lock("canary", on(0)()):
        ended = night(0)
        document = json.loads(night(0, "--json").out)
    assert (ended.code, ended.err) == (0, "")
    assert "has been measuring canary since 2026-03-01 04:10" in ended.out
    assert ended.out.count("\n") == 1
    assert document["outcome"] == "locked"
    assert document["holder"]["suite"] == "canary"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--suite", "canray"], "did you mean 'canary'"),
        (["--suite", "missing.toml"], "missing.toml cannot be read"),
        (["--budget", "soon"], "--budget soon is not a time"),
        (
            ["--budget", "4h", "accept", "x"],
            "--budget comes before the sub-command accept; write it after `normbench nightly accept`",
        ),
    ],
)
def test_a_slip_is_one_line(normbench: RunCommand, home: Path, words: list[str], message: str) -> None:
    ended = normbench("nightly", *words)
    assert ended.code in (1, 2)
    assert ended.out == ""
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not (home / "normbench.db").exists()


def test_help_names_the_built_in_suite_and_has_two_examples(normbench: RunCommand) -> None:
    shown = normbench("nightly", "--help").out
    assert "canary" in shown
    assert "only confirmed changes are regressions (exit code 3)" in " ".join(shown.split())
    assert "one cell at a time" in " ".join(shown.replace("│", " ").split())
    assert shown.count(" normbench nightly") == 2 + shown.count("Usage: normbench nightly")
