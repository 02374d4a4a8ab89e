"""Runs still needed: those of the paper's protocol that are not recorded, and the hours they would take.

The hours are the median run time of recorded runs of the same network, data and norm (or of any norm if that one has
none), scaled to the length of the schedule; the median, because a run that waited for others took longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pandas as pd

from normbench_cli.config import RunConfig
from normbench_cli.reporting.document import Cell, Table
from normbench_cli.reporting.reproduction.run_times import RunTimes, run_times
from normbench_cli.suites import Place, Scale, Suite
from normbench_cli.suites.scales import paper_config

COLUMNS = ("suite", "row", "columns", "runs", "hours")
ALL = "all of these"
Rates = Mapping[tuple[str, ...], float]  # network, data, unit of length, perhaps norm -> seconds per epoch or step


@dataclass(frozen=True)
class Open:
    """The missing runs of a suite's row.  hours: None if no recorded run allows an estimate."""

    suite: str
    row: str
    columns: tuple[str, ...]
    runs: int
    hours: float | None


def missing_runs(
    suites: Sequence[Suite],
    scale: Scale,
    recorded: Mapping[Place, str],
    times: RunTimes,
    elsewhere: Rates | None = None,
) -> list[Open]:
    """A run shared by several rows is counted in the first of them.  elsewhere: rates of other suites' runs."""
    rates, counted = {**(elsewhere or {}), **rates_of(suites, scale, recorded, times)}, set[str]()
    return [
        found
        for suite in suites
        for row in suite.rows
        for found in open_row(suite, row, scale, recorded, rates, counted)
    ]


def open_row(
    suite: Suite, row: str, scale: Scale, recorded: Mapping[Place, str], rates: Rates, counted: set[str]
) -> Iterator[Open]:
    """Yield a row's missing runs with a known run time, then those without."""
    known, unknown = dict[str, list[float]](), dict[str, list[float]]()
    for cell in suite.cells:
        if cell.row != row or cell.is_of_data:
            continue
        for seed in suite.seeds:
            paper = paper_config(cell, seed)
            is_done = Place(suite.name, row, cell.column, seed) in recorded and scale.config(suite, cell, seed) == paper
            if not is_done and paper.fingerprint() not in counted:
                counted.add(paper.fingerprint())
                seconds = seconds_of(paper, rates)
                group = unknown if seconds is None else known
                group.setdefault(cell.column, []).append(seconds or 0.0)
    for group in filter(None, (known, unknown)):
        hours = sum(map(sum, group.values())) / 3600 if group is known else None
        yield Open(suite.name, row, tuple(group), sum(map(len, group.values())), hours)


def rates_of(suites: Iterable[Suite], scale: Scale, recorded: Mapping[Place, str], times: RunTimes) -> Rates:
    found: dict[tuple[str, ...], list[float]] = {}
    for suite in suites:
        for cell in suite.cells:
            for seed in scale.seeds_of(suite):
                run = recorded.get(Place(suite.name, cell.row, cell.column, seed), "")
                if run in times and not cell.is_of_data:
                    config = scale.config(suite, cell, seed)
                    for key in keys(config):
                        found.setdefault(key, []).append(times[run] / length_of(config))
    return {key: median(values) for key, values in found.items()}


def recorded_rates(runs: pd.DataFrame) -> Rates:
    """The rates of all finished training runs of a database."""
    if runs.empty:
        return {}
    found: dict[tuple[str, ...], list[float]] = {}
    trained = runs[(runs["kind"] == "train") & (runs["status"] == "finished")]
    times = run_times(trained)
    for run_id, config in zip(trained["id"], trained["config"], strict=True):
        length = config.get("iterations") or config.get("epochs")
        if run_id in times and length:
            alike = (config["model"], config["data"], "steps" if config.get("iterations") else "epochs")
            for key in ((*alike, config["norm"]), alike):
                found.setdefault(key, []).append(times[run_id] / length)
    return {key: median(values) for key, values in found.items()}


def keys(config: RunConfig) -> list[tuple[str, ...]]:
    """Keys of `Rates`, the most similar runs first."""
    alike = (config.model, config.data, "steps" if config.iterations else "epochs")
    return [(*alike, config.norm), alike]


def length_of(config: RunConfig) -> int:
    return config.iterations or config.epochs or 1


def seconds_of(config: RunConfig, rates: Rates) -> float | None:
    return next((rates[key] * length_of(config) for key in keys(config) if key in rates), None)


def open_table(found: Sequence[Open], devices: Sequence[str]) -> Table:
    rows = [
        [
            Cell(one.suite),
            Cell(one.row),
            Cell(", ".join(one.columns)),
            Cell(str(one.runs), one.runs),
            Cell("-" if one.hours is None else f"{one.hours:.1f}", one.hours),
        ]
        for one in with_total(found)
    ]
    notes = [
        "Runs of the paper's protocol that are not recorded. A run shared by several rows is listed with the first one."
    ]
    if any(one.hours is not None for one in found):
        on = f" on {', '.join(devices)}" if devices else ""
        notes.append(f"Hours{on}, extrapolated from the median time of recorded runs of the same network and data.")
    if any(one.hours is None for one in found):
        notes.append("- : no run of the same network and data is recorded.")
    return Table("Runs still needed", COLUMNS, rows, notes, keys=2)


def with_total(found: Sequence[Open]) -> list[Open]:
    """All of them and, if several, their sum; its hours are the known ones."""
    if len(found) < 2:
        return list(found)
    known = [one.hours for one in found if one.hours is not None]
    return [*found, Open(ALL, "", (), sum(one.runs for one in found), sum(known) if known else None)]


def open_records(found: Sequence[Open], scale: Scale, devices: Sequence[str]) -> Iterator[dict[str, Any]]:
    for one in with_total(found):
        yield {
            "suite": one.suite,
            "row": one.row,
            "scale": scale.name,
            "open_columns": ", ".join(one.columns),
            "open_runs": one.runs,
            "open_hours": one.hours,
            "devices": ", ".join(devices),
        }
