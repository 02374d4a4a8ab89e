"""What the front page of reports/reproduction and the README say of it, from the csv files beside its pages."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from statistics import fmean

from tests.docs import best_scores
from tests.docs.full_schedule import ends, published, trained_acts
from tests.docs.graph_scores import farthest, graph_scores
from tests.docs.short_schedule import over_weights
from tests.docs.study import FOLDER, NORMS, RESNET20, VGG16, WHOLE, WIDTH, conditions, measured, range_of
from tests.docs.tables import records

UNDECIDED = "not enough evidence"


def pages_table() -> str:
    """A Markdown table of the pages: the recorded runs, the verdicts, and the missing runs."""
    head = "| page | scale | schedules | runs | claims | hours of missing runs |\n|---|---|---|---:|---|---:|"
    return "\n".join([head, *(page_line(path) for path in sorted(FOLDER.glob("reproduce-*.csv")))])


def page_line(path: Path) -> str:
    rows = records(path)
    name = path.stem.removeprefix("reproduce-").rpartition("-")[0]
    runs = {run for row in rows for run in row.get("runs", "").split()}
    measured = [row for row in rows if row["row"] and row.get("n") not in ("", "0")]
    schedules = dict.fromkeys(row["schedule"] for row in measured if row["schedule"])
    verdicts = Counter(row["verdict"] for row in rows if row["claim"])
    claims = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    hours = [row["open_hours"] for row in rows if row["open_runs"]][-1:]
    unknown = any(row["open_runs"] and not row["open_hours"] for row in rows)
    shown = f"{float(hours[0]):.1f}{' and more' * unknown}" if hours and hours[0] else "not known"
    cells = [f"[{name}]({path.stem}.md)", rows[0]["scale"], ", ".join(schedules) or "-", str(len(runs)), claims, shown]
    return f"| {' | '.join(cells)} |"


def decided_table() -> str:
    """A Markdown table: the claims that the recorded runs decide."""
    rows = [
        f"| {row['claim']} | {page_link(path)} | **{row['verdict']}** | {estimate(row)} | {row['n']} |"
        for path in sorted(FOLDER.glob("reproduce-*.csv"))
        for row in records(path)
        if row["claim"] and row["verdict"] != UNDECIDED
    ]
    if not rows:
        return "None yet."
    head = "| claim | page | verdict on these schedules | measured (95 % interval) | n |\n|---|---|---|---|---:|"
    return "\n".join([head, *rows])


def estimate(row: dict[str, str]) -> str:
    """Differences of accuracies in points, ratios as they are; claims about an order have none."""
    if not row["estimate"]:
        return "-"
    value, low, high = (float(row[name]) for name in ("estimate", "low", "high"))
    if row["test"].startswith("ratio"):
        return f"ratio {value:.3f} ({low:.3f} to {high:.3f})"
    return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def page_link(path: Path) -> str:
    return f"[{path.stem.removeprefix('reproduce-')}]({path.stem}.md)"


def readme_findings() -> str:
    """The three most interesting findings as a list, for the README."""
    resnet20, vgg16 = over_weights(RESNET20), over_weights(VGG16)
    found = [
        f"with {act.lower()} "
        + ", ".join(f"{norm} {ends(act, 'test')[norm]:.1f} % ({published(act, norm):.2f})" for norm in NORMS)
        for act in trained_acts()
    ]
    at_best = [f"{best_scores.gain(network, 'Sigmoid'):.1f}" for network in best_scores.STUDIES]
    graphs = graph_scores()
    points = [
        f"**POP-Norm, full schedule** (ResNet-20, CIFAR-10, {conditions(WHOLE)}), ours (published): "
        f"{'; '.join(found)}.",
        f"**Early in training with sigmoid** ({measured(RESNET20)[0]['schedule']}), the initial weights, which the "
        f"paper does not state, take BatchNorm from {range_of(resnet20.spans['BatchNorm'])} in ResNet-20. With equal "
        f"weights POP-Norm adds {fmean(resnet20.gains):.1f} points there and {fmean(vgg16.gains):.1f} in a narrow "
        f"VGG16; with each norm's best settings, on fresh seeds, {' and '.join(at_best)}.",
        f"**AugNorm on MUTAG**: {len(graphs)} scores are reproduced to within {farthest(graphs):.1f} points, "
        f"n={graphs[0]['n']} folds.",
    ]
    return "\n".join(textwrap.fill(f"- {point}", WIDTH, subsequent_indent="  ") for point in points)
