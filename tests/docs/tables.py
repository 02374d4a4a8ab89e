"""The tables that README and docs show, made from the registries; `.ci/docs` writes them into the pages."""

from __future__ import annotations

import csv
import math
import textwrap
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from normbench_cli.registry import Registry

REPORTS = Path(__file__).parents[2] / "reports"  # written by `normbench report` and `normbench reproduce`
INITIAL_WEIGHTS = REPORTS / "initial-weights"
PHI_MUTAG = REPORTS / "phi-mutag" / "reproduce-questions-phi-mutag-full.csv"
RATIO = ("ratio", "ratio_low", "ratio_high")
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
    """The rows of a report, by norm and factor of the initial weights."""
    rows = records(INITIAL_WEIGHTS / part / "report.csv")
    return {(row["norm"], float(row["init_gain"])): row for row in rows}


def cost_table(report: str, memory_format: str = "") -> str:
    """A Markdown table of a profile: a row for each norm with its time relative to the reference, by shape, with
    intervals; the norms by their geometric means.  memory_format: of the inputs, if it is not contiguous."""
    rows = [
        row
        for row in records(REPORTS / report / "report.csv")
        if row["ratio"] and "".join(row["at"].split("+")[1:]) == memory_format
    ]
    shapes = sorted({row["at"].split("+")[0] for row in rows}, key=size_of, reverse=True)
    ratios: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        ratios.setdefault(row["norm"], {})[row["at"].split("+")[0]] = row
    means = {norm: geometric_mean(float(row["ratio"]) for row in by.values()) for norm, by in ratios.items()}
    body = [
        f"| `{norm}` | {means[norm]:.2f} | {' | '.join(interval(ratios[norm].get(shape)) for shape in shapes)} |"
        for norm in sorted(means, key=means.__getitem__)
    ]
    return "\n".join([f"| norm | geometric mean | {' | '.join(shapes)} |", "|---|---:|" + "---:|" * len(shapes), *body])


def interval(row: dict[str, str] | None) -> str:
    """A ratio with its 95 % interval."""
    return "-" if row is None else "{:.2f} [{:.2f}, {:.2f}]".format(*map(float, itemgetter(*RATIO)(row)))


def size_of(shape: str) -> int:
    """The elements of a shape such as 128x64x32x32."""
    return math.prod(map(int, shape.split("x")))


def shown(row: dict[str, str], factor: float = 1) -> str:
    """Mean, sd and n with three significant digits."""
    spread = f" ± {factor * float(row['sd']):.2g}" if row["sd"] else ""
    return f"{factor * float(row['mean']):.3g}{spread} (n={row['n']})"


def phi_mutag_table() -> str:
    """A Markdown table: validation accuracy on MUTAG by phi and choice of the epoch."""
    cells = [row for row in records(PHI_MUTAG) if row["row"] and row["ours"]]
    columns = list(dict.fromkeys(row["column"] for row in cells))
    shown = {(row["row"], row["column"]): f"{float(row['ours']):.2f} ± {float(row['sd']):.2f}" for row in cells}
    rows = [
        f"| {row} | " + " | ".join(shown[row, column] for column in columns) + " |"
        for row in dict.fromkeys(row["row"] for row in cells)
    ]
    return "\n".join([f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", *rows])


def phi_mutag_finding() -> str:
    """The verdict on MUTAG, as it was computed."""
    (answer,) = [row["answer"] for row in records(PHI_MUTAG) if row["answer"]]
    return textwrap.fill(answer, 118)


def records(path: Path) -> list[dict[str, str]]:
    """The rows of a file that normbench wrote."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
