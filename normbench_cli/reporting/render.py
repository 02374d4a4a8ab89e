"""A report as a document for people, and as JSON for programs."""

from __future__ import annotations

from typing import Any

from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.curves import label
from normbench_cli.reporting.document import Document, Figure, Paragraph, Table
from normbench_cli.reporting.layout import Layout
from normbench_cli.reporting.profiles.across import ProfileTable
from normbench_cli.reporting.profiles.across_document import table_of, trends_of
from normbench_cli.reporting.report import Report
from normbench_cli.reporting.tables import UNFINISHED
from normbench_cli.reporting.target_table import target_figures, target_json, target_table

STATISTICS = ("mean", "sd", "n", "min", "max", "ci95_low", "ci95_high")
DIFFERENCE = ("n", "difference", "sd", "low", "high", "p_t", "p_permutation", "p_holm", "smallest_p", "effect_size")


def to_document(report: Report) -> Document:
    """The tables with their notes, and a figure for each curve."""
    if report.profiles is not None:
        return profiles_document(report, report.profiles)
    layout = Layout(report)
    *tables, last = layout.tables()
    notes = [*layout.notes(), *report.notes]
    noted = Table(last.title, last.columns, last.rows, notes, last.keys)
    figures = [
        Figure(name, f"curve-{name}", "curve", points, {"metric": name}) for name, points in report.curves.items()
    ]
    blocks: list[Table | Figure | Paragraph] = [*tables, noted]
    if report.targets is not None:
        labels = {int(str(group)): label(row, report.shown) for group, row in report.groups.iterrows()}
        blocks += [target_table(report.targets, labels), *target_figures(report.targets, labels)]
    blocks += [*figures, *report.figures]
    return Document("normbench report", report.head, blocks, report.details, records(layout))


def profiles_document(report: Report, made: ProfileTable) -> Document:
    """The profiles across dates, hosts or versions, and how they changed."""
    blocks: list[Table | Figure | Paragraph] = [*trends_of(made), *report.figures]
    if made.rows:
        blocks.insert(0, table_of(made, report.notes, report.query.limit))
    return Document("normbench report", report.head, blocks, report.details, made.rows)


def records(layout: Layout) -> list[dict[str, Any]]:
    """One row per group and metric, numbers as recorded (accuracy as a fraction)."""
    report, found = layout.report, []
    groups, known = report.groups.to_dict("index"), layout.cells
    for group in layout.groups:
        facts = groups[group]
        settings = {name: plain(facts[name]) for name in report.fields}
        for metric in report.metrics:
            if (group, metric) in known:
                cell = known[group, metric]
                numbers = {name: cell[name] for name in STATISTICS}
                row = settings | {"metric": metric} | numbers | {name: int(facts[name]) for name in UNFINISHED}
                found.append(row | difference_columns(report, group, metric))
    return found


def difference_columns(report: Report, group: int, metric: str) -> dict[str, Any]:
    """The difference to the baseline, if there is one."""
    if report.comparisons.baseline is None:
        return {}
    found = report.comparisons.differences.get((group, metric), {})
    return {f"baseline_{name}": found.get(name) for name in DIFFERENCE}


def plain(value: Any) -> Any:
    """A setting as a type that every format supports: a number, None or text."""
    return value if isinstance(value, int | float) or value is None else format_value(value)


def to_json(report: Report) -> dict[str, Any]:
    """``{"rows": [...]}``: one row per group with its fields, run counts, and the statistics of each metric."""
    if report.profiles is not None:
        return {"rows": report.profiles.rows}
    layout = Layout(report)
    groups = report.groups.to_dict("index")
    rows = [json_row(layout, group, groups[group]) for group in layout.groups]
    return {"rows": rows} | ({"left_out": len(layout.left_out)} if layout.limit else {})


def json_row(layout: Layout, group: int, facts: dict[Any, Any]) -> dict[str, Any]:
    report = layout.report
    metrics: dict[str, dict[str, Any]] = {}
    for metric in report.metrics:
        if (group, metric) in layout.cells:
            found = layout.cells[group, metric]
            metrics[metric] = {name: found[name] for name in STATISTICS}
            difference = report.comparisons.differences.get((group, metric))
            if difference:
                metrics[metric]["baseline"] = {name: difference[name] for name in DIFFERENCE}
    unfinished = {status: facts[status] for status in UNFINISHED if facts[status]}
    settings = {name: facts[name] for name in report.fields}
    times = {} if report.targets is None else {"time_to_target": target_json(report.targets, group)}
    return settings | {"n": facts["n"], "not_in_mean": unfinished, "metrics": metrics} | times
