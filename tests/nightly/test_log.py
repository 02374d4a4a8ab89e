"""The log of the nights: lines with a time, old logs kept, nothing on the terminal."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from normbench_cli.nightly import log


def test_a_line_has_time_and_level_and_nothing_that_a_terminal_obeys(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with log.night_log() as logger:
        logger.info("canary\n: %s", "\x1b[2J")
    (line,) = (home / "logs" / "nightly.log").read_text().splitlines()
    assert line[19:] == " info: canary : \\x1b[2J"
    assert capfd.readouterr() == ("", "")


def test_a_large_log_is_begun_anew_and_five_old_ones_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LARGEST", 100)
    for number in range(12):
        with log.night_log() as logger:
            logger.info("night %d, %s", number, "x" * 60)
    names = sorted(path.name for path in (home / "logs").iterdir())
    assert names == ["nightly.log", *(f"nightly.log.{number}" for number in range(1, 6))]
    assert "night 11" in (home / "logs" / "nightly.log").read_text()


def test_a_log_that_cannot_be_written_stops_nothing(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "logs" / "nightly.log").mkdir(parents=True)
    with log.night_log() as logger:
        logger.info("lost")
    assert capfd.readouterr() == ("", "")


def test_the_log_is_closed_after_the_night() -> None:
    with log.night_log():
        pass
    assert not [one for one in logging.getLogger(log.NAME).handlers if isinstance(one, log.QuietHandler)]
