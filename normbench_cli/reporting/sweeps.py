"""The sweep of a profile as a document: a table with one row per value and norm, and plots of the growing cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from normbench_cli.reporting.document import Cell, Document, Figure, Table
from normbench_cli.reporting.head import command
from normbench_cli.reporting.profiles.cells import EMPTY, MEMORY, NOISY, RATIOS, cells, place_of, unusual

Row = Mapping[str, Any]
BASELINE = "batchnorm"


def sweep_document(results: Sequence[Row], environment: Mapping[str, Any]) -> Document:
    """results: rows of a profile, with the swept setting (`sweep`), its value (`at`) and the `series`."""
    blocks: list[Table | Figure] = []
    for title, rows in by_series(results).items():
        blocks += [sweep_table(title, rows), *sweep_figures(title, rows)]
    head = {
        "command": command(),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "device": f"{environment.get('device_name', '?')}, {environment.get('threads', '?')} threads",
        "versions": f"normbench {environment.get('normbench', '?')}, torch {torch_version(environment)}",
    }
    return Document("normbench profile", head, blocks, records=results)


def torch_version(environment: Mapping[str, Any]) -> str:
    versions = environment.get("versions")
    return str(versions.get("torch", "?")) if isinstance(versions, Mapping) else "?"


def by_series(results: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each series, by its name and its unusual settings: layer Nx64x32x32 bfloat16."""
    found: dict[str, list[Row]] = {}
    for row in results:
        kind = "model" if "model" in row else "layer"
        found.setdefault(" ".join([kind, str(row["series"]), *unusual(row)]), []).append(row)
    return found


def sweep_table(title: str, rows: Sequence[Row]) -> Table:
    """One row per value and norm."""
    lines: dict[tuple[int, str], dict[str, Cell]] = {}
    name = str(rows[0]["sweep"])
    for row in rows:
        key = (row["at"], row["contender"])
        first = {name: Cell(str(key[0]), key[0]), "norm": Cell(key[1])}
        line = lines.setdefault(key, first)
        if row["metric"] not in MEMORY or row["reference"] == BASELINE:
            line.update(cells(row))
    columns = sorted(dict.fromkeys(column for line in lines.values() for column in line), key=place_of)
    notes = [RATIOS, *([NOISY] if any(row["noisy"] for row in rows) else [])]
    table = [[line.get(column, Cell(EMPTY)) for column in columns] for line in lines.values()]
    return Table(f"{title} by {name}, {rows[0]['device']}", columns, table, notes, keys=2)


def sweep_figures(title: str, rows: Sequence[Row]) -> Iterator[Figure]:
    """The times, and their ratios to the baseline, against the swept value."""
    times = [row for row in rows if row["metric"] == "step_time_ms" and row["status"] == "ok"]
    stem = title.replace(" ", "-")
    groups = list(dict.fromkeys(row["contender"] for row in times))  # to look the same in both figures
    ratios = [row for row in times if row["reference"] == BASELINE and row["contender"] != BASELINE]
    drawn = [row for row in ratios if row["ratio"] is not None]
    if drawn:
        points = points_of(drawn, "ratio", interval=True)
        options: dict[str, Any] = {"label": f"time relative to {BASELINE}", "line": 1, "groups": groups}
        options["interval"] = "median of rounds, 95 % interval"
        yield Figure(f"{title}: time relative to {BASELINE}", f"sweep-ratio-{stem}", "strength", points, options)
    absolute = [row for row in times if row["reference"] == BASELINE]
    if absolute:
        points = points_of(absolute, "median", interval=False)
        options = {"label": "time (ms)", "interval": "median of rounds", "log": True, "groups": groups}
        yield Figure(f"{title}: time", f"sweep-time-{stem}", "strength", points, options)


def points_of(rows: Sequence[Row], name: str, *, interval: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "group": row["contender"],
            "at": row["at"],
            "mean": row[name],
            "low": row[f"{name}_low"] if interval else math.nan,
            "high": row[f"{name}_high"] if interval else math.nan,
            "sd": math.nan,
            "n": row["n"],
            "unit_of_at": row["sweep"],
        }
        for row in rows
    )
