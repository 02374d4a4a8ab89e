"""Our scores on MUTAG beside the published ones, from the csv file of the reproduction."""

from __future__ import annotations

import textwrap

from tests.docs.tables import REPORTS, records

GRAPHS = REPORTS / "reproduction" / "reproduce-augnorm-graph-full.csv"
WIDTH = 118  # characters of a line


def graph_finding() -> str:
    """Our scores on MUTAG beside the published ones."""
    rows = graph_scores()
    if not rows:
        return "On MUTAG nothing is recorded yet."
    pairs = [
        f"{row['row']} {float(row['ours']):.1f} ({float(row['published']):.1f}{', ' * bool(row['kind'])}{row['kind']})"
        for row in rows
    ]
    return textwrap.fill(
        f"**On MUTAG the paper's scores are reproduced to within {farthest(rows):.1f} points**, {rows[0]['schedule']}, "
        f"n={rows[0]['n']} folds, ours (published): {'; '.join(pairs)}. The sd over folds is "
        f"{min(float(row['sd']) for row in rows):.1f} points or more, so one seed ranks none of them.",
        WIDTH,
    )


def graph_scores() -> list[dict[str, str]]:
    """The rows of the graph paper's table for MUTAG that have a published score and ours."""
    rows = [row for row in records(GRAPHS) if row["suite"].endswith("table2") and row["column"] == "MUTAG"]
    return [row for row in rows if row["published_sd"] and row["ours"]]


def farthest(rows: list[dict[str, str]]) -> float:
    return max(abs(float(row["difference"])) for row in rows)
