"""The live table of cells: states change in place, what matters stays in sight; elsewhere a line for each end."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from normbench_cli.cli._live_cells import CellLines, LiveCells, cells_progress
from normbench_cli.config import make_config
from normbench_cli.experiments.events import CellState, Notice

CONFIGS = [make_config({"norm": "none", "seed": seed, "epochs": 20}) for seed in range(9)]


def table(height: int, width: int = 80) -> tuple[LiveCells, Console]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    return LiveCells(CONFIGS, ["seed"], console), console


def state(number: int, name: str, **more: object) -> CellState:
    return CellState(number, CONFIGS[number], name, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [50, 80])
def test_cells_change_in_place(width: int) -> None:
    live, console = table(40, width)
    for change in (state(0, "running"), state(1, "running", epoch=3, score=0.5, run_id="12345678")):
        live.change(change)
    live.change(state(0, "failed"))
    with console.capture() as captured:
        console.print(live)
    lines = captured.get().splitlines()
    assert all(len(line) <= width for line in lines)
    assert "failed" in lines[2]
    assert "3/20" in lines[3]
    assert "50.00%" in lines[3]
    assert sum("waiting" in line for line in lines[2:-1]) == 7
    assert lines[-1] == "1 of 9 have ended: 1 failed; 1 running, 7 waiting"


def test_a_low_terminal_shows_what_is_at_work_and_what_ended_last() -> None:
    live, _ = table(height=8)
    for number in range(4):
        live.change(state(number, "finished"))
    live.change(state(7, "running"))
    live.change(state(5, "lost"))
    assert [one.number for one in live.shown()] == [2, 3, 5, 7]


def test_where_nobody_watches_each_end_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = CellLines(CONFIGS[:2], ["seed"])
    for change in (state(0, "running"), state(0, "lost", message="killed"), state(0, "finished", score=0.5)):
        lines.change(change)
    assert capsys.readouterr().err.splitlines() == [
        "none relu seed 0: its worker is lost and another takes over (killed)",
        "1/2 none relu seed 0: finished, accuracy 50.00%",
    ]


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with cells_progress(CONFIGS, quiet=quiet) as on_event:
            on_event(Notice("something"))
            on_event(state(0, "finished"))
        assert len(capsys.readouterr().err.splitlines()) == (0 if quiet else 2)
