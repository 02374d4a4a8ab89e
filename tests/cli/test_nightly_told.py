"""`normbench nightly` and the world outside: the log, the command that is told, the line for cron."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import NormbenchError
from normbench_cli.nightly.run import run_night
from normbench_cli.nightly.suite import read_suite
from tests.nightly.support import Measuring, on, usual
from tests.support import CommandResult, RunCommand

SUITE = '[profile.layer]\nnorms = ["popnorm"]\nshapes = ["8x8"]\n'
Night = Callable[..., CommandResult]


@pytest.fixture
def night(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Night:
    (tmp_path / "mine.toml").write_text(SUITE)

    def call(*words: str, **changed: Any) -> CommandResult:
        measure = Measuring(usual(read_suite("mine.toml")) | changed)
        monkeypatch.setattr("normbench_cli.nightly.run.run_night", partial(run_night, today=on(0)))
        monkeypatch.setattr("normbench_cli.nightly.remote.measured_by", lambda _: nullcontext(measure))
        return normbench("nightly", "--suite", "mine.toml", *words)

    return call


def test_the_log_has_what_happened_and_is_all_that_is_said(night: Night, home: Path) -> None:
    ended = night("--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    lines = (home / "logs" / "nightly.log").read_text().splitlines()
    assert any(" info: night " in line for line in lines)
    assert " info: mine 2026-03-01: fine, 2 measurements" in lines[-1]


def test_every_night_is_told_where_that_is_asked_for(night: Night) -> None:
    ended = night("--notify", "cat > told.json", "--notify-on", "always", "--json")
    assert json.loads(Path("told.json").read_text()) == json.loads(ended.out)


def test_a_fine_night_is_not_told_otherwise(night: Night) -> None:
    assert night("--notify", "touch told").code == 0
    assert not Path("told").exists()


def test_a_command_that_fails_is_one_line_and_changes_nothing(night: Night, home: Path) -> None:
    ended = night("--notify", "echo no network; exit 7", "--notify-on", "always")
    assert ended.code == 0
    assert ended.out.startswith("mine 2026-03-01: fine")
    assert ended.err == "--notify ended with exit code 7: no network\n"
    assert "warning: --notify ended with exit code 7" in (home / "logs" / "nightly.log").read_text()


def test_a_night_that_ends_in_an_error_is_told_and_logged(night: Night, home: Path) -> None:
    Path("reports").write_text("a file")
    ended = night("--notify", "cat > told.json")
    assert ended.code == 1
    told = json.loads(Path("told.json").read_text())
    assert (told["outcome"], told["exit_code"]) == ("error", 1)
    assert told["line"].startswith("mine: error, the folder reports")
    assert " error: the folder reports" in (home / "logs" / "nightly.log").read_text()


def test_a_night_without_pages_keeps_its_verdict(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Path]:
        raise NormbenchError("the disk is full")

    monkeypatch.setattr("normbench_cli.nightly.conclusion.write_pages", fail)
    ended = night()
    assert ended.code == 1
    assert ended.out == "mine 2026-03-01: fine, 2 measurements, 2 with a new baseline\n"
    assert ended.err == "the pages of the night are missing: the disk is full\n"


def test_another_word_for_when_is_refused(night: Night) -> None:
    ended = night("--notify-on", "alway")
    assert ended.code == 2
    assert ended.err.startswith("normbench: --notify-on alway is not known; did you mean 'always'?")


def test_the_line_for_cron_has_every_option_that_was_given(night: Night, tmp_path: Path) -> None:
    words = ["--budget", "2h", "--out", "my pages", "--db", "n.db", "--notify", "mail %", "--notify-on", "always"]
    printed = night("--print-cron", *words)
    assert printed.code == 0
    (line,) = [line for line in printed.out.splitlines() if re.match(r"\d", line)]
    found = shlex.split(line.replace("\\%", "%"))
    assert found[found.index("nightly") :] == [
        *("nightly", "--suite", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "my pages"), "--budget", "2h"),
        *("--notify", "mail %", "--notify-on", "always", "--db", str(tmp_path / "n.db"), "--quiet"),
    ]
    assert sys.executable in found
    assert not (tmp_path / "n.db").exists()


def test_the_line_for_cron_has_the_processes_of_a_training(night: Night, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[train.a]\ndata = "digits:size=8"\nmodel = "mlp"\nepochs = 1\n')
    assert " --nproc 2 --sync-norm --quiet" in night("--print-cron", "--nproc", "2", "--sync-norm").out


def test_the_three_texts_are_there_one_by_one_as_json(night: Night) -> None:
    found, text = json.loads(night("--print-cron", "--json").out), night("--print-cron").out
    assert list(found) == ["crontab", "service", "timer"]
    assert all(part.strip() in text for part in found.values())
