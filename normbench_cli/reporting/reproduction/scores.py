"""The values that a question compares: for each row and column by seed, or in a cross-validation by seed and fold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import fmean

from normbench_cli.reporting.reproduction.cells import factor_of
from normbench_cli.reporting.statistics import robust_range
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName, higher_is_better, parse_metric
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.suites import Cell, Place, Scale, Suite

Units = Mapping[Hashable, float]  # seed, or (seed, fold) -> value; nan where the run diverged
NAN = float("nan")
LAST = "last"  # the epoch choice for which each fold's value is recorded


@dataclass(frozen=True)
class Scores:
    """The recorded values of a cell.  folds: 0 if they are by seed."""

    cell: Cell
    units: Units
    folds: int = 0


@dataclass(frozen=True)
class Part:
    """What is compared together: a column or a panel.  The values are in `unit`."""

    rows: Mapping[Hashable, Units]
    folds: int
    unit: str
    higher: bool = True

    def by_seed(self) -> Mapping[Hashable, Units]:
        """The rows by seed, averaged over folds."""
        return {row: mean_over_folds(units) for row, units in self.rows.items()} if self.folds else self.rows


def mean_over_folds(units: Units) -> Units:
    seeds: dict[Hashable, list[float]] = {}
    for unit, value in units.items():
        assert isinstance(unit, tuple)
        seeds.setdefault(unit[0], []).append(value)
    return {seed: fmean(values) for seed, values in seeds.items()}


def read_scores(store: Store, suite: Suite, scale: Scale, recorded: Mapping[Place, str]) -> list[Scores]:
    """The scores of all cells that count in the suite's question."""
    assert suite.question is not None
    cells = [cell for cell in suite.cells if suite.question.counts(cell.column) and not cell.is_of_data]
    runs = {place: run_id for place, run_id in recorded.items() if place.suite == suite.name}
    counted = [(cell, folds_of(suite, cell, scale)) for cell in cells]
    names = {name for cell, folds in counted for name in (scale.metric(cell), *fold_metrics(cell, folds))}
    values: dict[tuple[str, str], float] = {}
    for row in metrics_frame(store, sorted(set(runs.values())), sorted(names)).itertuples():
        values[str(row.run_id), str(row.metric)] = float(row.value)
    frame = runs_frame(store)
    diverged = set(frame.loc[frame["status"] == "diverged", "id"])
    return [scores_of(cell, folds, scale, runs, values, diverged) for cell, folds in counted]


def folds_of(suite: Suite, cell: Cell, scale: Scale) -> int:
    """The number of folds of a cell's runs; 0 unless each fold's value is recorded."""
    by_fold = cell.sd and parse_metric(cell.metric).condition == LAST
    return scale.config(suite, cell, scale.seeds_of(suite)[0]).folds if by_fold else 0


def fold_metrics(cell: Cell, folds: int) -> list[str]:
    name = parse_metric(cell.metric)
    return [str(MetricName(name.split, name.name, f"fold{fold}")) for fold in range(folds)]


def scores_of(
    cell: Cell,
    folds: int,
    scale: Scale,
    runs: Mapping[Place, str],
    values: Mapping[tuple[str, str], float],
    diverged: set[str],
) -> Scores:
    units: dict[Hashable, float] = {}
    metrics = fold_metrics(cell, folds) or [scale.metric(cell)]
    for place, run_id in runs.items():
        if (place.row, place.column) == (cell.row, cell.column):
            for number, metric in enumerate(metrics):
                value = NAN if run_id in diverged else values.get((run_id, metric))
                if value is not None:
                    units[(place.seed, number) if folds else place.seed] = value
    return Scores(cell, units, folds)


def of_columns(scores: list[Scores]) -> dict[str, Part]:
    """One part per column."""
    found: dict[str, list[Scores]] = {}
    for one in scores:
        found.setdefault(one.cell.column, []).append(one)
    return {
        column: Part(
            {one.cell.row: scaled(one.units, factor_of(one.cell)) for one in parts},
            max(one.folds for one in parts),
            parts[0].cell.unit,
            higher_is_better(parts[0].cell.metric) is not False,
        )
        for column, parts in found.items()
    }


def scaled(units: Units, factor: float) -> Units:
    return {unit: value * factor for unit, value in units.items()}


def of_ranges(scores: list[Scores]) -> dict[str, Part]:
    """One part per panel: for each row and seed, how many decades of `at` are within a point of its best."""
    panels: dict[str, dict[str, list[Scores]]] = {}
    for one in scores:
        panels.setdefault(one.cell.panel, {}).setdefault(one.cell.row, []).append(one)
    return {
        panel or "range": Part({row: widths(parts) for row, parts in rows.items()}, 0, "decades")
        for panel, rows in panels.items()
    }


def widths(parts: list[Scores]) -> Units:
    """Widths by seed, for seeds that were run at every value; values where a run diverged are outside the range."""
    seeds = [seed for seed in parts[0].units if all(seed in one.units for one in parts)]
    found: dict[Hashable, float] = {}
    for seed in seeds:
        points = [(one.cell.at, one.units[seed]) for one in parts if one.cell.at and math.isfinite(one.units[seed])]
        found[seed] = robust_range([at for at, _ in points], [value for _, value in points], log=True).width
    return found
