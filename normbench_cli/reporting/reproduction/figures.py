"""The curves of suites that are figures in the paper: one plot per column, one curve per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from normbench_cli.reporting.curves import by_epoch, by_step
from normbench_cli.reporting.document import Figure
from normbench_cli.store import Store
from normbench_cli.suites import Cell, Place, Scale, Suite


def make_figures(store: Store, suite: Suite, scale: Scale, recorded: Mapping[Place, str]) -> Iterator[Figure]:
    curves = list(dict.fromkeys((cell.column, cell.curve) for cell in suite.cells if cell.curve))
    for column, metric in curves:
        cells = [cell for cell in suite.cells if (cell.column, cell.curve) == (column, metric)]
        points = curve_points(store, suite, cells, metric, recorded)
        if not points.empty:
            name = f"{suite.name}-{scale.name}-{column}-{metric}".replace("/", "-")
            yield Figure(f"{suite.place}: {metric}, {column}", name, "curve", points, {"metric": metric})


def curve_points(
    store: Store, suite: Suite, cells: list[Cell], metric: str, recorded: Mapping[Place, str]
) -> pd.DataFrame:
    """Columns group (the row), at, mean, sd, n, unit_of_at."""
    label = {(cell.row, cell.column): cell.row for cell in cells}
    runs = pd.DataFrame(
        [
            (run_id, label[place.row, place.column])
            for place, run_id in recorded.items()
            if place.suite == suite.name and (place.row, place.column) in label
        ],
        columns=["id", "group"],
    )
    found, unit = by_step(store, runs, metric), "step"
    if found.empty:
        found, unit = by_epoch(store, runs, metric), "epoch"
    if found.empty:
        return found
    points = found.groupby(["group", "at"], sort=False)["value"].agg(["mean", "std", "count"]).reset_index()
    return points.rename(columns={"std": "sd", "count": "n"}).assign(unit_of_at=unit)
