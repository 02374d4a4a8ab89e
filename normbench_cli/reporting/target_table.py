"""Time to a target in a report: a table, a figure for steps and one for seconds, and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from normbench_cli.reporting.document import Cell, Figure, Table
from normbench_cli.reporting.tables import format_number, significant_decimals
from normbench_cli.reporting.time_to_target import UNITS, TargetGroup, TimesToTarget, Unit

NOTE = (
    "Median time of Kaplan and Meier's estimate, counted at the ends of epochs, without evaluation: runs that end "
    "before they reach it are censored; one that diverges never reaches it."
)


def target_table(found: TimesToTarget, labels: Mapping[int, str]) -> Table:
    """One row per group: how many of its runs reached the target, the median steps and seconds, the tests."""
    columns = ["", "reached", *(f"median {unit}" for unit in UNITS), *(f"p ({unit})" for unit in UNITS)]
    rows = [
        [
            Cell(labels[group]),
            Cell(f"{one.reached} of {one.runs}", one.reached),
            *(median_cell(one.median(unit)) for unit in UNITS),
            *(test_cell(one, unit) for unit in UNITS),
        ]
        for group, one in found.groups.items()
    ]
    return Table(f"Time to {found.target}", columns, rows, [NOTE, *test_notes(found, labels)])


def median_cell(median: float) -> Cell:
    if math.isinf(median):
        return Cell("not reached", median)
    return Cell(format_number(median, 0 if median.is_integer() else significant_decimals(median, math.nan)), median)


def test_cell(group: TargetGroup, unit: Unit) -> Cell:
    test = group.tests.get(unit)
    if test is None or math.isnan(test.p):
        return Cell("-")
    return Cell(f"{test.p:.3f} ({test.test})", test.p)


def test_notes(found: TimesToTarget, labels: Mapping[int, str]) -> Iterator[str]:
    if any(group.tests for group in found.groups.values()):
        bases = dict.fromkeys(labels[base] for base in found.references.values())
        yield (
            f"p: against {', '.join(bases)}, after Holm's correction; the sign-flip permutation test of pairs where "
            "all runs reach it, otherwise the log-rank test."
        )


def target_figures(found: TimesToTarget, labels: Mapping[int, str]) -> Iterator[Figure]:
    """Kaplan and Meier's curves, over steps and over seconds."""
    for unit in UNITS:
        rows = [
            {"group": labels[group], "at": at, "share": share, "n": one.runs, "reached": one.reached}
            for group, one in found.groups.items()
            for at, share in one.curve(unit)
        ]
        end = max(time.at for one in found.groups.values() for time in one.times[unit].values())
        options = {"unit": unit, "end": end, "groups": list(labels.values())}
        name = f"target-{found.target.metric}-{unit}"
        yield Figure(f"Time to {found.target}", name, "survival", pd.DataFrame(rows), options)


def target_json(found: TimesToTarget, group: int) -> dict[str, Any]:
    """A group's entry in JSON; a median that was not reached is null."""
    one = found.groups.get(group)
    if one is None:
        return {}
    medians = {unit: finite_or_none(one.median(unit)) for unit in UNITS}
    tests = {unit: {"p": test.p, "test": test.test} for unit, test in one.tests.items()}
    return {"target": str(found.target), "runs": one.runs, "reached": one.reached, "median": medians, "tests": tests}


def finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
