"""A report in the forms in which it leaves the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from normbench_cli.reporting.collect import Report
from normbench_cli.reporting.tables import UNFINISHED

STATISTICS = ("mean", "sd", "n", "min", "max", "ci95_low", "ci95_high")


def to_rows(report: Report) -> list[dict[str, str]]:
    """For `print_table`."""
    return report.table().to_dict("records")


def to_markdown(report: Report) -> str:
    rows = to_rows(report)
    columns = list(report.table().columns)
    lines = [columns, ["---"] * len(columns), *([row[column] for column in columns] for row in rows)]
    table = "\n".join("| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines)
    return "\n\n".join(["# normbench report", table, *report.notes]) + "\n"


def escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def to_csv(report: Report) -> str:
    """A row a group and metric, numbers as they are (accuracy as a fraction)."""
    counted = report.groups[[*report.fields, *UNFINISHED]]
    table = report.summary.join(counted, on="group")
    return table[[*report.fields, "metric", *STATISTICS, *UNFINISHED]].to_csv(index=False, lineterminator="\n")


def to_json(report: Report) -> dict[str, Any]:
    """``{"rows": [...]}``: a row a group with its fields, its runs counted, and each metric's statistics."""
    found: dict[int, dict[str, Any]] = {}
    for row in report.summary.to_dict("records"):
        found.setdefault(row["group"], {})[row["metric"]] = {name: row[name] for name in STATISTICS}
    rows = []
    for group, facts in zip(report.groups.index, report.groups.to_dict("records"), strict=True):
        rows.append(
            {name: facts[name] for name in report.fields}
            | {"n": facts["n"], "not_in_mean": {state: facts[state] for state in UNFINISHED if facts[state]}}
            | {"metrics": found.get(group, {})}
        )
    return {"rows": rows}


FILES: dict[str, Callable[[Report], str]] = {"md": to_markdown, "csv": to_csv}


def write(report: Report, folder: Path, form: str) -> Path:
    path = folder / f"report.{form}"
    path.write_text(FILES[form](report), encoding="utf-8")
    return path
