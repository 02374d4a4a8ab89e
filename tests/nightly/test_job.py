"""The job: the program, the folder and the environment as they are now."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import present_job


def test_the_present_places_are_kept_by_their_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NORMBENCH_HOME", "there")
    monkeypatch.setenv("NORMBENCH_DATA", "~/sets")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("NORMBENCH_DB", "mine.db")
    job = present_job(["nightly"])
    assert job.folder == str(tmp_path)
    assert job.environment["NORMBENCH_HOME"] == str(tmp_path / "there")
    assert job.environment["NORMBENCH_DATA"] == "/home/me/sets"
    assert job.environment["NORMBENCH_DB"] == "mine.db"  # in the same folder


def test_without_variables_the_home_stands_in_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NORMBENCH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/data of me")
    job = present_job(["nightly"])
    assert job.environment["NORMBENCH_HOME"] == "/data of me/normbench"
    assert not {"NORMBENCH_DB", "NORMBENCH_DATA", "HOME"} & set(job.environment)


def test_the_program_is_the_one_that_was_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "normbench"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "nightly"])
    assert present_job(["nightly", "-q"]).words == (str(script), "nightly", "-q")
    monkeypatch.setattr(sys, "argv", ["/x/normbench_cli/__main__.py", "nightly"])
    assert present_job(["nightly"]).words == (sys.executable, "-m", "normbench_cli", "nightly")


def test_the_search_path_has_what_is_used_and_the_usual_folders() -> None:
    folders = present_job([]).environment["PATH"].split(":")
    assert folders[0] == str(Path(sys.executable).parent)
    assert {"/usr/bin", "/bin"} <= set(folders)
    assert len(folders) == len(set(folders))


@pytest.mark.parametrize("odd", ["a\nb", "a\tb", "\x1b[2J", "\u202e"])
def test_signs_that_no_crontab_can_hold_are_refused(odd: str) -> None:
    with pytest.raises(UsageError, match="no crontab can hold"):
        present_job(["nightly", "--suite", odd])
