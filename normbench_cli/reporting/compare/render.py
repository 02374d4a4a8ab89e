"""A comparison of two sides as a document for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from normbench_cli.reporting import tables
from normbench_cli.reporting.compare.comparison import TwoSides
from normbench_cli.reporting.compare.metrics import MetricComparison
from normbench_cli.reporting.compare.settings import Difference
from normbench_cli.reporting.compare.sides import Side
from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table
from normbench_cli.reporting.statistics.summary import Summary

MOST_VALUES = 6  # of a setting that are listed


def to_document(made: TwoSides) -> Document:
    blocks: list[Table | Figure | Paragraph] = [Paragraph(described(side)) for side in (made.a, made.b)]
    if made.settings:
        blocks.append(difference_table("Settings that differ", "setting", made.settings))
    if made.facts:
        blocks.append(difference_table("Code and machine that differ", "fact", made.facts))
    blocks.append(metric_table(made))
    if len(made.ratios):
        blocks.append(ratio_table(made))
    return Document("normbench compare", made.head, [*blocks, *made.figures], records=records(made))


def described(side: Side) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in side.statuses.items())
    ids = f": {' '.join(side.runs['id'])}" if len(side.runs) <= MOST_VALUES else ""
    return f"{side.name}: {side.text} ({counts}{ids})"


def difference_table(
    title: str, what: str, differences: Sequence[Difference], sides: tuple[str, str] = ("A", "B")
) -> Table:
    rows = [[Cell(one.name), Cell(shortened(one.a)), Cell(shortened(one.b))] for one in differences]
    return Table(title, [what, *sides], rows)


def shortened(values: Sequence[str]) -> str:
    more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return (", ".join(values[:MOST_VALUES]) + more) or "-"


def metric_table(made: TwoSides) -> Table:
    columns = ["metric", "A", "B", "B - A", "95 % interval", "p (t)", "p (permutation)", "p (Holm)", "seeds needed"]
    rows = [metric_row(made, one) for one in made.metrics]
    if len(made.metrics) == 1:  # Holm's correction leaves a single test unchanged
        drop = columns.index("p (Holm)")
        columns, rows = columns[:drop] + columns[drop + 1 :], [row[:drop] + row[drop + 1 :] for row in rows]
    return Table("Metrics", columns, rows, list(metric_notes(made)))


def metric_row(made: TwoSides, one: MetricComparison) -> list[Cell]:
    found, metric = one.difference, one.metric
    factor, decimals = tables.scale(metric, found["difference"], found["sd"])
    tested = found["n"] > 1

    def scaled(name: str, form: str = "+") -> str:
        return f"{found[name] * factor:{form}.{decimals}f}"

    return [
        Cell(tables.heading(metric)),
        mean_cell(made.a, metric, one.a),
        mean_cell(made.b, metric, one.b),
        Cell(f"{scaled('difference')} (n={found['n']})", found["difference"]) if found["n"] else Cell("-"),
        Cell(f"{scaled('low')} to {scaled('high')}") if tested else Cell("-"),
        *(p_cell(found[name], tested=tested) for name in ("p_t", "p_permutation", "p_holm")),
        Cell(str(found["seeds_needed"]), found["seeds_needed"]) if found["seeds_needed"] and tested else Cell("-"),
    ]


def mean_cell(side: Side, metric: str, found: Summary | None) -> Cell:
    if found is None:
        return Cell("-")
    return Cell(tables.cell(metric, found.mean, found.sd, found.n), found.mean, runs=tuple(side.finished["id"]))


def p_cell(p: float, *, tested: bool) -> Cell:
    return Cell(f"{p:.2g}", p) if tested and p == p else Cell("-")


def metric_notes(made: TwoSides) -> Iterator[str]:
    pairs = " and ".join(["seed", *made.pairing])
    if any((side.n if side else 0) > 1 for one in made.metrics for side in (one.a, one.b)):
        yield "± is the sample standard deviation (sd, ddof=1) over n runs."
    if any(one.difference["n"] for one in made.metrics):
        yield f"B - A: mean difference of n pairs with equal {pairs}."
    if any(one.difference["n"] > 1 for one in made.metrics):
        yield (
            "Interval by t; p of the paired t-test and of the sign-flip permutation test, the latter also after Holm's "
            "correction over the table; seeds needed: for 80 % power, were the true difference the one seen."
        )
    yield from limit_notes(made.metrics)


def limit_notes(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    """Yield what n is too small for, with the metrics' names unless it applies to all."""
    found: dict[str, list[str]] = {}
    for one in metrics:
        for limit in one.difference["limits"]:
            found.setdefault(limit, []).append(one.metric)
    for limit, names in found.items():
        of = "" if len(names) == len(metrics) else f" ({', '.join(names)})"
        yield f"{limit[0].upper()}{limit[1:]}{of}."


def ratio_table(made: TwoSides) -> Table:
    rows = [
        [
            Cell(row.norm),
            Cell(row.reference),
            Cell(row.at),
            Cell(f"{row.ratio:.3g}", row.ratio, runs=row.runs),
            Cell(f"{row.low:.3g} to {row.high:.3g}" if row.interleaved else "-"),
        ]
        for row in made.ratios.itertuples()
    ]
    notes = ["Ratio: median over rounds of B's step time to A's, with a bootstrap 95 % interval."]
    if not made.ratios["interleaved"].all():
        notes.append(
            "Without an interval: the two did not take turns in one profile, so a slower minute of the machine may be"
            " part of the ratio of their medians."
        )
    return Table("Step time of B relative to A", ["B", "A", "at", "ratio", "95 % interval"], rows, notes, keys=3)


def records(made: TwoSides) -> list[dict[str, Any]]:
    """Return one row per metric, numbers as recorded."""
    found = []
    for one in made.metrics:
        sides = {
            f"{name}_{key}": getattr(summary, key) if summary else None
            for name, summary in (("a", one.a), ("b", one.b))
            for key in ("mean", "sd", "n", "ci95_low", "ci95_high")
        }
        numbers = {name: value for name, value in one.difference.items() if name != "limits"}
        found.append({"metric": one.metric, **sides, **numbers})
    return found


def to_json(made: TwoSides) -> dict[str, Any]:
    return {
        "a": side_json(made.a),
        "b": side_json(made.b),
        "settings": [asdict(one) for one in made.settings],
        "environment": [asdict(one) for one in made.facts],
        "paired_by": ["seed", *made.pairing],
        "metrics": [
            {
                "metric": one.metric,
                "a": asdict(one.a) if one.a else None,
                "b": asdict(one.b) if one.b else None,
                "difference": dict(one.difference),
            }
            for one in made.metrics
        ],
        "ratios": made.ratios.to_dict("records"),
    }


def side_json(side: Side) -> dict[str, Any]:
    return {"given": side.text, "runs": side.runs["id"].tolist(), "statuses": side.statuses}
