"""Bad input: one clear line that says what to do, the right exit code, no traceback, and nothing changed."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normbench_cli.config import RunConfig
from tests.support import RunCommand, recorded_in

TINY = ["--data", "digits:size=8", "--iterations", "2", "--batch-size", "64", "--norm", "batchnorm"]


def assert_one_line(ended: Any, code: int, *says: str) -> None:
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    for words in says:
        assert words in ended.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--norm", "popnrm"], "did you mean 'popnorm'"),
        (["--norm", "popnorm:kapa=4"], "did you mean 'kappa'"),
        (["--norm", "popnorm:kappa=0"], "kappa"),
        (["--norm", "os:system"], "not a class made from torch.nn.Module"),
        (["--act", "rellu"], "did you mean 'relu'"),
        (["--model", "resnet21"], "did you mean 'resnet20'"),
        (["--data", "digit"], "did you mean 'digits'"),
        (["--data", "digits:size=1"], "size is 1"),
        (["--epochs", "0"], "epochs is 0"),
        (["--epochs", "many"], "epochs=many is not a whole number"),
        (["--lr", "nan"], "lr is nan"),
        (["--seeds", "5-2"], "end before they begin"),
        (["--batch-size", "1", "--norm", "batchnorm"], "statistics over the batch"),
        (["--batch-size", "1", "--norm", "popnorm"], "statistics over the batch"),
        (["--batch-size", "99999"], "examples to train with"),
        (["--set", "nokey=1"], "no setting 'nokey'"),
        (["--set", "lr"], "key=value"),
        (["--device", "toaster"], "not the name of a device"),
        (["--no-such-option"], "--no-such-option"),
        (["--schedule", "step:at=x"], "schedule"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_of_train(normbench: RunCommand, home: Path, words: list[str], says: str) -> None:
    assert_one_line(normbench("train", *words), 2, says)
    assert not recorded_in(home)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_missing_device_is_named(normbench: RunCommand, home: Path) -> None:
    assert_one_line(normbench("train", "--device", "cuda"), 2, "no device 'cuda'")
    assert not recorded_in(home)


@pytest.fixture
def recorded(enter: Callable[..., str], home: Path) -> Path:
    """A database with a run in it."""
    enter(0.5)
    return home / "normbench.db"


def truncate(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path.write_bytes(path.read_bytes()[:5000])


def make_newer(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE normbench_schema_version SET version_num = '9999'")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def overwrite(path: Path) -> None:
    path.write_bytes(b"something else entirely, and long enough to be looked at" * 100)


def protect(path: Path) -> None:
    path.chmod(0o444)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(truncate, "truncated"), (make_newer, "upgrade normbench"), (overwrite, "not a"), (protect, "read-only")],
)
def test_an_unusable_database_is_left_unchanged(
    normbench: RunCommand, recorded: Path, spoil: Callable[..., Any], says: str
) -> None:
    spoil(recorded)
    before = recorded.read_bytes()
    assert_one_line(normbench("train", *TINY), 1, says)
    assert recorded.read_bytes() == before


def test_a_folder_is_not_a_database(normbench: RunCommand, tmp_path: Path) -> None:
    assert_one_line(normbench("train", *TINY, "--db", str(tmp_path)), 1, "folder")


def test_an_unwritable_home_is_an_error(normbench: RunCommand, home: Path) -> None:
    home.mkdir()
    home.chmod(0o555)
    assert_one_line(normbench("train", *TINY), 1, "NORMBENCH_HOME")
    home.chmod(0o755)
    assert not list(home.iterdir())


def test_a_home_that_cannot_be_created_is_an_error(normbench: RunCommand, home: Path) -> None:
    home.write_text("a file")
    assert_one_line(normbench("train", *TINY), 1, "NORMBENCH_HOME")


@pytest.mark.parametrize("command", [["eval"], ["runs", "show"], ["runs", "rm", "--yes"]], ids=" ".join)
def test_an_unknown_run_is_named(normbench: RunCommand, recorded: Path, command: list[str]) -> None:
    assert_one_line(normbench(*command, "ffffffffff"), 1, "ffffffffff", "normbench runs list")


@pytest.mark.parametrize("words", [["--lr", "nan"], ["--no-such-option"], ["--epochs", "many"]], ids=" ".join)
def test_debug_shows_the_traceback_also_of_errors_in_options(normbench: RunCommand, words: list[str]) -> None:
    assert "Traceback" in normbench("train", *words, "--debug").err


def test_an_unexpected_exception_is_one_line_too(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: list[RunConfig], **kwargs: Any) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("normbench_cli.build.check", fail)
    assert_one_line(normbench("train", *TINY), 1, "RuntimeError: two lines", "--debug")


def test_warnings_of_libraries_are_shown_only_for_debugging(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(*args: Any, **kwargs: Any) -> None:
        warnings.warn("of a library", UserWarning, stacklevel=1)

    monkeypatch.setattr("normbench_cli.cli.db.echo", warn)
    monkeypatch.setattr("sys.warnoptions", [])
    seen: list[object] = []
    for words, shown in ((["db", "path"], 0), (["db", "path", "--debug"], 1)):
        with warnings.catch_warnings(), monkeypatch.context() as patch:
            warnings.simplefilter("always")
            patch.setattr(warnings, "showwarning", lambda message, *_: seen.append(message))
            normbench(*words)
            assert len(seen) == shown


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_an_error_message_is_harmless_to_a_terminal(normbench: RunCommand, debug: list[str]) -> None:
    ended = normbench("train", "--norm", "pop\x1b[31mnorm\u202e", *debug)
    assert r"pop\x1b[31mnorm\u202e" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(("words", "name"), [(["db", "backup", ""], "an argument"), (["report", "--by="], "--by")])
def test_an_empty_word_is_refused(normbench: RunCommand, words: list[str], name: str) -> None:
    ended = normbench(*words)
    assert (ended.code, ended.err) == (2, f"normbench: {name} is empty; give it a value, or leave it out\n")


def test_python_m_runs_the_program() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "normbench_cli", "--version"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.startswith("normbench ")
