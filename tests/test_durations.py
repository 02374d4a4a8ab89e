"""Durations: every unit, and what is not one."""

from __future__ import annotations

import pytest

from normbench_cli.durations import parse_duration
from normbench_cli.errors import UsageError
from tests.support import RunCommand


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("10min", 600), ("1.5h", 5400), (".5h", 1800), ("2d", 172800)]
)
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "0s", "-1s", "1e9h", "nanh", "10 min", "10minutes", "9" * 400 + "s"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time; write 90s, 30m or 2h"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("command", "code"),
    [(["reproduce", "none"], 2), (["profile", "--dtype", "none"], 2), (["nightly", "--print-cron"], 0)],
)
def test_every_command_takes_the_same_units(normbench: RunCommand, command: list[str], code: int) -> None:
    """The first two end with another error."""
    ended = normbench(*command, "--budget", "10min")
    assert (ended.code, "--budget" in ended.err) == (code, False)
    assert "--budget soon is not a time" in normbench(*command, "--budget", "soon").err
