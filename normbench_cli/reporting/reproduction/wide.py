"""A suite without published numbers as a wide table: one line per row, one column per number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from normbench_cli.reporting.document import Cell, Table
from normbench_cli.reporting.reproduction.cells import Measured
from normbench_cli.reporting.reproduction.compare import NO_NUMBER, number
from normbench_cli.reporting.reproduction.records import Row
from normbench_cli.reporting.reproduction.run_times import RunTimes, mean_time
from normbench_cli.suites import Cell as SuiteCell
from normbench_cli.suites import Scale, Suite


def is_wide(suite: Suite) -> bool:
    """Whether the suite has several columns, and neither a question nor published numbers."""
    alone = not suite.question and not any(cell.published for cell in suite.cells)
    return alone and len(suite.columns) > 1 and not any(cell.is_of_data for cell in suite.cells)


def wide_table(suite: Suite, title: str, rows: Sequence[Row], times: RunTimes, notes: Sequence[str]) -> Table:
    """Rows without measurements are left out and named in a note."""
    lines = {row: [one for one in rows if one[0].row == row] for row in suite.rows}
    shown = {row: parts for row, parts in lines.items() if any(found.n or found.diverged for _, found, _ in parts)}
    absent = [row for row in lines if row not in shown]
    more = ["No run is recorded at this scale."] if not shown else []
    more += [f"Not recorded at this scale: {'; '.join(absent)}."] if absent and shown else []
    return Table(
        title=title,
        columns=("row", *suite.columns, "n", "s/run"),
        rows=[line_of(row, parts, suite, times) for row, parts in shown.items()],
        notes=[
            *notes,
            "n: number of runs behind each value; s/run: mean wall time of a run in seconds, including waiting.",
            *more,
        ],
    )


def line_of(row: str, parts: Sequence[Row], suite: Suite, times: RunTimes) -> list[Cell]:
    by_column = {cell.column: value_of(cell, found) for cell, found, _ in parts}
    counts = sorted({found.n for _, found, _ in parts if found.n})
    seconds = seconds_of(parts, times)
    return [
        Cell(row),
        *(by_column.get(column, Cell("")) for column in suite.columns),
        Cell("/".join(map(str, counts)) or "0", max(counts, default=0)),
        Cell(NO_NUMBER if seconds is None else f"{seconds:.1f}", seconds),
    ]


def value_of(cell: SuiteCell, found: Measured) -> Cell:
    if found.mean is None:
        return Cell("diverged" if found.diverged else NO_NUMBER)
    return Cell(number(found.mean, found.sd if found.n > 1 else None, cell.unit), found.mean, runs=found.runs)


def seconds_of(parts: Sequence[Row], times: RunTimes) -> float | None:
    return mean_time(times, dict.fromkeys(run for _, found, _ in parts for run in found.runs))


def wide_records(suite: Suite, rows: Sequence[Row], scale: Scale, times: RunTimes) -> Iterator[dict[str, Any]]:
    """The mean run time of each line."""
    for row in suite.rows:
        seconds = seconds_of([one for one in rows if one[0].row == row], times)
        if seconds is not None:
            yield {"suite": suite.name, "row": row, "scale": scale.name, "seconds_of_row": seconds}
