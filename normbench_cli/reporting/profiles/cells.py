"""The cells of a profile's tables, on the terminal and in documents: times, ratios with intervals, shares, memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normbench_cli.reporting.document import Cell

Row = Mapping[str, Any]  # of the results of a profile
USUAL = {
    "dtype": "float32",
    "memory_format": "contiguous",
    "call": "layer",
    "pass": "both",
    "step": "train",
    "start": "warm",
}
TIME, LIMIT = "step ms (median)", "% of limit"
MEMORY = {"peak_memory_bytes": "peak memory", "saved_activation_bytes": "saved for backward"}
COLUMNS = (  # in order; names up to the slash
    *("norm", TIME, "IQR", "p95", "n", "outliers", "time", "samples/s", "own share", "must move", "least ms", LIMIT),
    *("peak memory", "peak", "saved for backward", "saved", "solver iterations"),
)
EMPTY = "-"
RATIOS = "Ratios: median over rounds, 95 % bootstrap interval."
NOISY = "noisy: this machine's timings varied a lot; repeat when it is idle, or with more --budget."


def unusual(row: Row) -> list[str]:
    """The settings of a case that are not the usual ones: bfloat16, eval."""
    return [str(row[name]) for name, usual in USUAL.items() if row.get(name, usual) != usual]


def place_of(column: str) -> int:
    """Where a column stands; one that is not listed is first."""
    name = column.partition(" / ")[0]
    return COLUMNS.index(name) if name in COLUMNS else -1


def cells(row: Row) -> dict[str, Cell]:
    """The cells that a result adds to the line of its norm, by column."""
    metric = row["metric"]
    if metric == "step_time_ms":
        return time_cells(row) if row["status"] == "ok" else {TIME: Cell(str(row["status"]))}
    if metric == "samples_per_s":
        return {"samples/s": Cell(f"{row['median']:,.0f}", row["median"])}
    if metric == "solver/iterations_mean":
        return {"solver iterations": Cell(f"{row['median']:.2f}", row["median"])}
    if metric not in MEMORY:
        return {}
    if row["median"] is None:
        return {MEMORY[metric]: Cell(EMPTY if row["status"] == "ok" else str(row["status"]))}
    return {MEMORY[metric]: Cell(mebibytes(row["median"]), row["median"])}


def time_cells(row: Row) -> dict[str, Cell]:
    found = {
        TIME: Cell(time_text(row), row["median"]),
        "IQR": Cell(f"{row['iqr']:.3f}", row["iqr"]),
        f"time / {row['reference']}": Cell(interval(row, "ratio"), row["ratio"]),
    }
    if row.get("share") is not None:
        found[f"own share / {row['reference']}"] = Cell(interval(row, "share", percent=True), row["share"])
    if row.get("limit_fraction") is not None:
        found[LIMIT] = Cell(f"{100 * row['limit_fraction']:.0f}", row["limit_fraction"])
    return found


def time_text(row: Row) -> str:
    """31.200, or 31.200 noisy"""
    return f"{row['median']:.3f}{' noisy' if row['noisy'] else ''}"


def interval(row: Row, name: str = "ratio", *, percent: bool = False) -> str:
    """A column with the ends of its interval: 1.23 [1.20, 1.27], or in percent."""
    if row[name] is None:
        return EMPTY
    factor, digits = (100, 1) if percent else (1, 2)
    middle, low, high = (factor * row[key] for key in (name, f"{name}_low", f"{name}_high"))
    return f"{middle:.{digits}f}{' %' * percent} [{low:.{digits}f}, {high:.{digits}f}]"


def mebibytes(count: float) -> str:
    return f"{count / 2**20:.2f} MiB"
