"""The tables that README and docs show, made from the registries; `.ci/docs` writes them into the pages."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from normbench_cli.registry import Registry

INITIAL_WEIGHTS = Path(__file__).parents[2] / "reports" / "initial-weights"  # written by `normbench report`
GAINS = {1.0: "Xavier", 3.0: "three times Xavier"}
Key = tuple[str, float]  # norm, factor of the initial weights


def registry_table(registry: Registry[Any]) -> str:
    """A Markdown table: name and aliases, summary, paper."""
    rows = [
        f"| {' '.join([f'`{entry.name}`', *_aliases(entry.aliases)])} | {entry.summary} | {entry.paper} |"
        for entry in registry.entries.values()
    ]
    return "\n".join(["| name | what | source |", "|---|---|---|", *rows])


def _aliases(names: tuple[str, ...]) -> list[str]:
    return [f"({', '.join(names)})"] if names else []


def initial_weights_table() -> str:
    """A Markdown table: training loss after half of the schedule and test accuracy at its end, by norm and weights."""
    losses, accuracies = measured("half"), measured("end")
    rows = [
        f"| {weights} | {norm} | {shown(losses[norm, gain])} | {shown(accuracies[norm, gain], 100)} |"
        for gain, weights in GAINS.items()
        for norm in ("batchnorm", "popnorm")
    ]
    head = "| initial weights | norm | training loss after half of the schedule | test accuracy (%) at the end |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def initial_weights_finding() -> str:
    """What the table comes to, in two sentences."""
    rows = measured("half")
    loss = {key: float(row["mean"]) for key, row in rows.items()}
    n = "/".join(sorted({row["n"] for row in rows.values()}))
    (few, many) = ({norm: loss[norm, gain] for norm in ("batchnorm", "popnorm")} for gain in GAINS)
    falls = {norm: few[norm] / many[norm] for norm in few}
    return (
        f"With Xavier weights POP-Norm's loss on the digits is {few['popnorm'] / few['batchnorm']:.2g} of BatchNorm's "
        f"({few['popnorm']:.2g}, {few['batchnorm']:.2g}; sigmoid,\nafter half of the schedule, n={n}). "
        "With weights three times as large BatchNorm's falls by a factor of\n"
        f"{falls['batchnorm']:.0f} and POP-Norm's by {falls['popnorm']:.0f}, "
        f"to {many['batchnorm']:.2g} and {many['popnorm']:.2g}"
    )


def measured(part: str) -> dict[Key, dict[str, str]]:
    """The rows of a report as CSV."""
    lines = (INITIAL_WEIGHTS / part / "report.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {(row["norm"], float(row["init_gain"])): row for row in rows}


def shown(row: dict[str, str], factor: float = 1) -> str:
    """Mean, sd and n with three significant digits."""
    spread = f" ± {factor * float(row['sd']):.2g}" if row["sd"] else ""
    return f"{factor * float(row['mean']):.3g}{spread} (n={row['n']})"
