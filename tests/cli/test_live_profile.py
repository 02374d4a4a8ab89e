"""The live table of a profile: rows wait, fill in, and fit the terminal; where nobody watches there is none."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from normbench_cli.cli import _profile
from normbench_cli.cli._live_profile import LiveProfile
from tests.support import RunCommand

PLACES = [(f"layer {n}x4", ["none", "batchnorm"]) for n in (1, 2, 3, 4)]


def table(height: int, width: int = 80) -> tuple[LiveProfile, Console]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    return LiveProfile(PLACES, console), console


@pytest.mark.parametrize("width", [80, 200])
def test_rows_fill_in_place_by_place(width: int) -> None:
    live, console = table(40, width)
    live.settle([("none", "0.100", "0.50 [0.49, 0.51]"), ("batchnorm", "0.200", "1.00 [1.00, 1.00]")])
    with console.capture() as captured:
        console.print(live)
    lines = captured.get().splitlines()
    assert all(len(line) <= width for line in lines)
    assert "layer 1x4" in lines[2]
    assert "0.50 [0.49, 0.51]" in lines[2]
    assert sum("…" in line for line in lines) == 6
    assert lines[-1] == "1 of 4 comparisons"


def test_a_low_terminal_shows_the_place_that_is_being_measured() -> None:
    live, _ = table(8)
    assert [row[0] for row in live.shown()] == ["layer 1x4", "", "layer 2x4", ""]
    for _ in range(3):
        live.settle([("none", "1", ""), ("batchnorm", "1", "")])
    assert [row[0] for row in live.shown()] == ["layer 3x4", "", "layer 4x4", ""]
    live.settle([("none", "oom", "")])  # a contender may be missing
    assert live.shown()[-1] == ("layer 4x4", "none", "oom", "")


def test_there_is_no_live_table_where_output_is_no_terminal(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_profile, "live_profile", lambda places: pytest.fail("a live table was drawn"))
    words = ["profile", "--norm", "none", "--shape", "8x4", "--rounds", "5", "--budget", "1s", "--no-memory"]
    assert normbench(*words).code == 0
