"""A report as rows to print, as JSON, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from normbench_cli import paths
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.reporting.plots import write_curve, write_figure
from normbench_cli.reporting.report import Report
from normbench_cli.reporting.tables import UNFINISHED

STATISTICS = ("mean", "sd", "n", "min", "max", "ci95_low", "ci95_high")


def to_rows(report: Report) -> list[dict[str, str]]:
    """A dictionary a table row, for printing."""
    columns = list(report.table.columns)
    return [dict(zip(columns, row, strict=True)) for row in report.table.itertuples(index=False, name=None)]


def to_markdown(report: Report) -> str:
    columns = list(report.table.columns)
    lines = [columns, ["---"] * len(columns), *report.table.itertuples(index=False, name=None)]
    table = "\n".join("| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines)
    return "\n\n".join(["# normbench report", table, *report.notes]) + "\n"


def escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def to_csv(report: Report) -> str:
    """A row a group and metric, numbers as recorded (accuracy as a fraction)."""
    counted = report.groups[[*report.fields, *UNFINISHED]]
    table = report.summary.join(counted, on="group")
    return str(table[[*report.fields, "metric", *STATISTICS, *UNFINISHED]].to_csv(index=False, lineterminator="\n"))


def to_json(report: Report) -> dict[str, Any]:
    """``{"rows": [...]}``: a row a group with its fields, its numbers of runs, and the statistics of each metric."""
    statistics: dict[int, dict[str, Any]] = {}
    for row in report.summary.to_dict("records"):
        statistics.setdefault(row["group"], {})[row["metric"]] = {name: row[name] for name in STATISTICS}
    rows = []
    for group, facts in zip(report.groups.index, report.groups.to_dict("records"), strict=True):
        rows.append(
            {name: facts[name] for name in report.fields}
            | {"n": facts["n"], "not_in_mean": {status: facts[status] for status in UNFINISHED if facts[status]}}
            | {"metrics": statistics.get(group, {})}
        )
    return {"rows": rows}


FORMATS: dict[str, Callable[[Report], str]] = {"md": to_markdown, "csv": to_csv}


def parse_formats(text: str) -> list[str]:
    """``md,csv`` -> the names of the formats, checked."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"--format {name} is not one of {', '.join(FORMATS)}", "choose one or more of them")
    return names


def write_files(report: Report, folder: Path, formats: Sequence[str]) -> Iterator[Path]:
    """Write ``report.<format>`` for each format, and the plots with their numbers; yield each path written."""
    if not (formats or report.curves or report.figures):
        return
    paths.ensure_writable(folder, "--out")
    try:
        for name in formats:
            path = folder / f"report.{name}"
            path.write_text(FORMATS[name](report), encoding="utf-8")
            yield path
        for name, points in report.curves.items():
            yield from write_curve(points, name, folder)
        for figure in report.figures:
            yield from write_figure(figure, folder)
    except OSError as error:
        raise NormbenchError(
            f"{error.filename or folder} cannot be written: {error.strerror}", "choose another folder with --out"
        ) from error
