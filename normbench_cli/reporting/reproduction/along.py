"""The figures that a suite requests: its numbers against a setting that its rows vary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from normbench_cli.config import IDENTITY
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots.numbers import heading
from normbench_cli.reporting.reproduction.cells import Measured, factor_of
from normbench_cli.suites import Cell, Scale, Suite
from normbench_cli.suites.scales import paper_config

Cells = Mapping[tuple[str, str, str], Measured]  # suite, row, column
Line = tuple[tuple[str, Any], ...]  # the settings that its points share


def figures_along(suite: Suite, scale: Scale, measured: Cells, schedule: str) -> Iterator[Figure]:
    """schedule: the length of the runs, printed below each figure."""
    if suite.figure is None:
        return
    along = suite.figure.along
    for column in suite.figure.columns:
        cells = [cell for cell in suite.cells if cell.column == column]
        points = points_along(suite, cells, along, measured)
        if len(points):
            metric = cells[0].metric
            yield Figure(
                title=f"{suite.name}: {heading(metric)} by {along}, {column}",
                name=f"{suite.name}-{scale.name}-{column}-by-{along}".replace("/", "-"),
                kind="strength",
                points=points,
                options={"metric": metric},
                notes=[f"{schedule}. All other settings are the suite's."],
            )


def points_along(suite: Suite, cells: list[Cell], along: str, measured: Cells) -> pd.DataFrame:
    """Columns group, at, mean, sd, n, unit_of_at, runs: the lines with several points."""
    lines: dict[Line, dict[float, tuple[Cell, Measured]]] = {}
    for cell in cells:
        found, config = measured[suite.name, cell.row, cell.column], paper_config(cell, suite.seeds[0])
        if found.mean is not None:
            line = tuple((name, getattr(config, name)) for name in IDENTITY if name not in (along, "seed"))
            lines.setdefault(line, {})[float(getattr(config, along))] = (cell, found)
    drawn = {line: points for line, points in lines.items() if len(points) > 1}
    labels = labels_of(list(drawn))
    return pd.DataFrame(
        {
            "group": labels[line],
            "at": at,
            "mean": (found.mean or 0.0) / factor_of(cell),
            "sd": math.nan if found.sd is None else found.sd / factor_of(cell),
            "n": found.n,
            "unit_of_at": along,
            "runs": found.runs,
        }
        for line, points in drawn.items()
        for at, (cell, found) in sorted(points.items())
    )


def labels_of(lines: list[Line]) -> dict[Line, str]:
    """Label each line by the settings in which the lines differ."""
    shared = set.intersection(*map(set, lines)) if lines else set()
    return {
        line: " ".join(format_value(value) for name, value in line if (name, value) not in shared) or "all"
        for line in lines
    }
