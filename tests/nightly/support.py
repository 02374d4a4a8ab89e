"""Nights without training: cells whose values a test chooses, on days that it chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from normbench_cli.nightly.cell import NightlyCell, NightlySuite
from normbench_cli.nightly.cell_process import Beat, Measure, Measured
from normbench_cli.nightly.measurements import TIME_VS_REFERENCE
from normbench_cli.nightly.run import NightResult, run_night

FIRST = datetime(2026, 3, 1, 4, 10)
TIME = f"{TIME_VS_REFERENCE}@8x8"


def suite_of(*names: str) -> NightlySuite:
    cells = tuple(NightlyCell(name, "profile", {"norm": "popnorm", "device": "cpu"}, ((8, 8),)) for name in names)
    return NightlySuite("tests", cells)


def on(night: int) -> Callable[[], datetime]:
    """The clock of the n-th night."""
    return lambda: FIRST + timedelta(days=night)


@dataclass
class Measuring:
    """Gives each cell the values that a test has chosen, and writes down which cells were measured.

    values: cell -> metric -> value; an exception is raised.  seconds: what a cell takes.
    """

    values: Mapping[str, Mapping[str, float] | Exception | type[BaseException]]
    seconds: float = 1.0
    calls: list[str] = field(default_factory=list)

    def __call__(self, cell: NightlyCell, db: str | None, source: str, limit: float, beat: Beat) -> Measured:
        self.calls.append(cell.name)
        beat()
        values = self.values[cell.name]
        if not isinstance(values, Mapping):
            raise values
        return Measured(dict(values), None, self.seconds)


def run(night: int, suite: NightlySuite, measuring: Measure, budget: float | None = None) -> NightResult:
    return run_night(suite, out=Path("reports"), budget=budget, today=on(night), measure=measuring)


def usual(suite: NightlySuite, night: int = 0, **changed: float) -> dict[str, dict[str, float]]:
    """A time and an exact loss for each cell; times differ a little from night to night.  changed: cell -> factor."""
    wobble = 1 + 0.01 * ((night * 7) % 5 - 2)
    return {cell.name: {TIME: 1.5 * wobble * changed.get(cell.name, 1.0), "train/loss": 0.25} for cell in suite.cells}


def statuses(result: NightResult) -> dict[str, str]:
    return {one.name: one.finding.status for one in result.verdict.judged if one.finding.status != "fine"}
