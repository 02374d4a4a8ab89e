"""What the runs of each cell measured.  Published numbers are not used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from normbench_cli.config import REGISTRIES
from normbench_cli.reporting.statistics import summarize
from normbench_cli.store import Store
from normbench_cli.store.metric_names import unit_of
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.suites import Cell, Place, Scale, Suite
from normbench_cli.suites.scales import deviations, paper_config

Values = Mapping[str, Mapping[str, float]]  # run -> metric -> last value


@dataclass(frozen=True)
class Measured:
    """A cell's number: mean, sd and n, in the cell's unit.

    n: runs, or folds where the spread is over folds.  diverged: runs without a number.  deviations: what differs from
    the paper, empty if the cell is faithful to it.  comparable: false if another network or data set replaces the
    paper's.
    """

    mean: float | None = None
    sd: float | None = None
    n: int = 0
    diverged: int = 0
    runs: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    comparable: bool = True


def measure_cells(
    store: Store, suites: Iterable[Suite], scale: Scale, recorded: Mapping[Place, str]
) -> dict[tuple[str, str, str], Measured]:
    """The measured number of each suite, row and column."""
    runs = runs_frame(store).to_dict("records")
    status = {str(run["id"]): str(run["status"]) for run in runs}
    folds = {str(run["id"]): int(run["config"].get("folds", 0)) for run in runs}
    chosen = list(suites)
    names = {name for suite in chosen for cell in suite.cells for name in (scale.metric(cell), cell.sd) if name}
    values: dict[str, dict[str, float]] = {}
    for row in metrics_frame(store, sorted(set(recorded.values())), sorted(names)).itertuples():
        values.setdefault(str(row.run_id), {})[str(row.metric)] = float(row.value)
    return {
        (suite.name, cell.row, cell.column): measure(suite, cell, scale, recorded, values, status, folds)
        for suite in chosen
        for cell in suite.cells
    }


def measure(
    suite: Suite,
    cell: Cell,
    scale: Scale,
    recorded: Mapping[Place, str],
    values: Values,
    status: Mapping[str, str],
    folds: Mapping[str, int],
) -> Measured:
    seeds = scale.seeds_of(suite)
    places = (Place(suite.name, cell.row, cell.column, seed) for seed in seeds)
    runs = [recorded[place] for place in places if place in recorded]
    diverged = sum(status.get(run) == "diverged" for run in runs)
    runs = [run for run in runs if status.get(run) == "finished" and scale.metric(cell) in values.get(run, {})]
    differs = tuple(differences(suite, cell, scale, len(runs)))
    comparable = is_comparable(suite, cell, scale)
    if not runs:
        return Measured(diverged=diverged, deviations=differs, comparable=comparable)
    found = summarize([values[run][scale.metric(cell)] for run in runs])
    of_folds = [values[run][cell.sd] for run in runs if cell.sd in values[run]]
    sd = math.sqrt(fmean(one**2 for one in of_folds)) if of_folds else found.sd
    n = sum(folds.get(run) or 1 for run in runs) if of_folds else len(runs)
    factor = factor_of(cell)
    return Measured(
        mean=found.mean * factor,
        sd=None if math.isnan(sd) else sd * factor,
        n=n,
        diverged=diverged,
        runs=tuple(runs),
        deviations=differs,
        comparable=comparable,
    )


def is_comparable(suite: Suite, cell: Cell, scale: Scale) -> bool:
    """Whether the cell uses the paper's network and data set, with any parameters."""
    seed = scale.seeds_of(suite)[0]
    config, paper = scale.config(suite, cell, seed), paper_config(cell, seed)
    kinds = ["data"] if cell.is_of_data else ["data", "model"]
    return all(
        REGISTRIES[kind].parse(getattr(config, kind)).entry is REGISTRIES[kind].parse(getattr(paper, kind)).entry
        for kind in kinds
    )


def factor_of(cell: Cell) -> float:
    """The factor from recorded to printed unit: the database has fractions where papers print percentages."""
    unit = cell.unit
    return 100.0 if unit == "%" and unit_of(cell.metric) == "fraction" else 1.0


def differences(suite: Suite, cell: Cell, scale: Scale, runs: int) -> Iterable[str]:
    """Yield what differs from the paper: settings, and the number of seeds."""
    seed = scale.seeds_of(suite)[0]
    config, paper = scale.config(suite, cell, seed), paper_config(cell, seed)
    if cell.is_of_data:
        names: Sequence[str] = ["data"] if config.data != paper.data else []
    else:
        names = deviations(config, paper)
    for name in names:
        yield f"{name} {getattr(config, name)}"
    if runs < len(suite.seeds) and not cell.is_of_data:
        yield f"{runs} of {len(suite.seeds)} seeds"
