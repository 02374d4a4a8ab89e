"""`profile --solver` for people: the error by the number of passes, and the cost of a pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.document import Cell, Document, Figure, Table
from normbench_cli.reporting.head import command
from normbench_cli.reporting.profiles.cells import NOISY

AIM = 1e-5  # standard deviations: the tolerance of the layers' solver in float32
ERROR, TIME = "solver/error", "step_time_ms"
Row = Mapping[str, Any]


def to_document(results: Sequence[Row], head: Mapping[str, str]) -> Document:
    """One table and one figure per phi."""
    of_phi: dict[float, list[Row]] = {}
    for row in results:
        of_phi.setdefault(row["phi"], []).append(row)
    tables = [table_of(phi, rows, last=phi == [*of_phi][-1]) for phi, rows in of_phi.items()]
    figures = [figure_of(format_value(phi), points_of(rows)) for phi, rows in of_phi.items()]
    return Document("normbench profile --solver", head, [*tables, *figures], records=records(results))


def head_of(environment: Mapping[str, Any]) -> dict[str, str]:
    versions = environment.get("versions", {})
    return {
        "command": command(),
        "machine": f"{environment.get('device_name')}, {environment.get('threads')} threads",
        "versions": f"normbench {environment.get('normbench')}, torch {versions.get('torch')}",
    }


def table_of(phi: float, rows: Sequence[Row], *, last: bool) -> Table:
    """One row per kind of data and solver; notes below the last table."""
    passes = sorted({row["passes"] for row in rows})
    errors = {(row["data"], row["contender"], row["passes"]): row for row in rows if row["metric"] == ERROR}
    times = {(row["data"], row["contender"], row["passes"]): row for row in rows if row["metric"] == TIME}
    keys = list(dict.fromkeys((data, solver) for data, solver, _ in errors))
    lines = [
        [
            *map(Cell, key),
            *(error_cell(errors[*key, count]) for count in passes),
            passes_cell(errors[*key, passes[-1]]),
            time_cell(times[*key, passes[-1]]),
            time_cell(times[*key, passes[-1]], errors[*key, passes[-1]]["used_max"]),
        ]
        for key in keys
    ]
    columns = ["data", "solver", *(str(count) for count in passes), "passes", "ms", "ms a pass"]
    title = f"phi = {format_value(phi)}: error in sd after so many passes"
    return Table(title, columns, lines, list(notes(rows)) if last else [], keys=2)


def error_cell(row: Row) -> Cell:
    """Bold if within the tolerance."""
    value = row["largest"]
    return Cell("nan") if value != value else Cell(f"{value:.0e}", value, bold=value <= AIM)


def passes_cell(row: Row) -> Cell:
    return Cell(f"{row['used_mean']:.1f} (most {row['used_max']:.0f})", row["used_mean"])


def time_cell(row: Row, passes: float = 1) -> Cell:
    """The time of all passes, or of one of `passes`."""
    value = row["median"] / max(1, passes)
    return Cell(f"{value:.2f}" + (" noisy" if row["noisy"] else ""), value)


def notes(rows: Sequence[Row]) -> Iterator[str]:
    shapes = " or ".join(dict.fromkeys(f"{row['shape']} {row['dtype']}" for row in rows))
    yield (
        f"The largest error of all channels (values x channels: {shapes}), in standard deviations of the channel,"
        f" against bisection in float64.  Bold: {AIM:g} or less."
    )
    yield (
        "passes: those after which a channel is done, mean over the channels; newton makes as many as it is given.  ms:"
        " of all of them, with mean and variance before the first and the output after the last."
    )
    if any(row["noisy"] for row in rows):
        yield NOISY


def points_of(rows: Sequence[Row]) -> pd.DataFrame:
    names = {"contender": "group", "data": "panel", "passes": "at", "largest": "error"}
    return pd.DataFrame([row for row in rows if row["metric"] == ERROR])[list(names)].rename(columns=names)


def figure_of(phi: str, points: pd.DataFrame) -> Figure:
    options = {"error": "error (sd)", "aim": AIM}
    return Figure(
        f"Error of the generalized median, phi = {phi}", f"convergence-phi{phi}", "convergence", points, options
    )


def records(results: Sequence[Row]) -> list[dict[str, Any]]:
    """Replace non-finite numbers by None."""
    return [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in results
    ]
