"""The table and the plots of `report --kind profile`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from normbench_cli.reporting.document import Cell, Figure, Table
from normbench_cli.reporting.profiles.across import ProfileTable, Row

MOST_COLUMNS = 8  # the newest ones
FEWEST_DATES = 3  # for a trend
Key = tuple[str, ...]


def table_of(made: ProfileTable, notes: Sequence[str] = (), limit: int = 0) -> Table:
    """Each column is split in two: the ratio to the baseline and the milliseconds."""
    cells: dict[Key, dict[Key, Row]] = {}
    for row in made.newest:
        key = (str(row["at"]), str(row["norm"]), *(str(row[name]) for name in made.by))
        cells.setdefault(key, {})[tuple(str(row[name]) for name in made.across)] = row
    columns = sorted({column for of_row in cells.values() for column in of_row})
    shown = columns[-MOST_COLUMNS:]
    keys = in_order(cells, made.baseline)
    rows = [
        [Cell(key[1]), Cell(key[0]), *map(Cell, key[2:])]
        + [cell for column in shown for cell in pair_of(cells[key].get(column))]
        for key in (keys[:limit] if limit else keys)
    ]
    names = [name for column in shown for name in (" ".join(column), f"{' '.join(column)} ms")]
    said = [*own_notes(made, len(columns) - len(shown), len(keys) - len(rows)), *notes]
    title = f"Step time relative to {made.baseline}, by {' and '.join(made.across)}"
    return Table(title, ["norm", "at", *made.by, *names], rows, said, keys=2 + len(made.by))


def in_order(cells: Mapping[Key, Any], baseline: str) -> list[Key]:
    """The keys grouped by place, in order of appearance; the baseline first in each."""
    places = list(dict.fromkeys(key[0] for key in cells))
    return sorted(cells, key=lambda key: (places.index(key[0]), key[1] != baseline))


def pair_of(row: Row | None) -> list[Cell]:
    if row is None:
        return [Cell(""), Cell("")]
    runs = (row["run"],)
    ms = (
        Cell("-") if row["step_time_ms"] is None else Cell(f"{row['step_time_ms']:.3f}", row["step_time_ms"], runs=runs)
    )
    if row["ratio"] is None:
        return [Cell("-"), ms]
    text = f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]"
    return [Cell(text, row["ratio"], runs=runs), ms]


def own_notes(made: ProfileTable, columns: int, rows: int) -> Iterator[str]:
    yield (
        f"Ratios: median over the rounds of a profile, in which both took turns, with a 95 % interval: these can be"
        f" compared across {' and '.join(made.across)}; the milliseconds depend on the machine and its load."
    )
    if repeated := len(made.rows) - len(made.newest):
        yield f"Of several profiles in one column the newest is shown; {repeated} earlier values are not."
    if columns:
        yield f"{columns} older columns are not shown; --format csv and --json have all values."
    if rows:
        yield f"--limit leaves out {rows} rows."


def trends_of(made: ProfileTable) -> list[Figure]:
    """For each place that was measured on more than two dates, the ratios of each norm by date."""
    found = pd.DataFrame([row for row in made.rows if row["ratio"] is not None and row["norm"] != made.baseline])
    if found.empty:
        return []
    figures = []
    for place, part in found.groupby("at", sort=False):
        if len({f"{moment:%Y-%m-%d}" for moment in part["started_at"]}) >= FEWEST_DATES:
            points = part.rename(columns={"ratio": "mean", "ratio_low": "low", "ratio_high": "high"})
            points = points.assign(group=points["norm"], at=points["started_at"], runs=[(run,) for run in part["run"]])
            points = points[["group", "at", "mean", "low", "high", "n", "runs"]].reset_index(drop=True)
            figures.append(Figure(f"Step time at {place}", f"trend-{place}", "trend", points, options_of(made)))
    return figures


def options_of(made: ProfileTable) -> dict[str, str]:
    return {
        "metric": f"relative to {made.baseline}",
        "interval": "median of the ratios of each round, 95 % interval",
    }
