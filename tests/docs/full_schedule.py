"""Both norms at the end of POP-Norm's full schedule, from the csv files of the pages."""

from __future__ import annotations

import textwrap

from tests.docs.study import ACTS, FOLDER, NORMS, WHOLE, WIDTH, conditions, scores
from tests.docs.tables import records

PAPER = FOLDER / "reproduce-popnorm-full.csv"
LAST_EPOCHS = 10
LARGE = "xavier x 3"  # the weights of the full schedule


def whole_finding() -> str:
    """Both norms with equal weights at the end of the paper's schedule."""
    gains = {act: ends(act, "test")["POP-Norm"] - ends(act, "test")["BatchNorm"] for act in trained_acts()}
    leads = [f"{'leads' if gain > 0 else 'trails'} BatchNorm by {abs(gain):.1f} points" for gain in gains.values()]
    told = " and ".join(f"{lead} with {act.lower()}" for lead, act in zip(leads, gains, strict=True))
    text = (
        f"**At the end of the full schedule, with equal initial weights, POP-Norm {told}** (test accuracy). ResNet-20 "
        f"on CIFAR-10, {conditions(WHOLE)}, bf16, {LARGE}. {harm()}"
    )
    return f"{textwrap.fill(text.rstrip(), WIDTH)}\n\n{whole_table()}"


def whole_table() -> str:
    """A Markdown table of the runs of the full schedule beside the published numbers."""
    head = (
        "| activation | norm | test % (published) | training % | training loss | "
        f"validation %, last {LAST_EPOCHS} epochs |\n|---|---|---:|---:|---:|---:|"
    )
    lines = [
        f"| {act.lower()} | {norm} | {ends(act, 'test')[norm]:.2f} ({published(act, norm):.2f}) | "
        f"{ends(act, 'training')[norm]:.2f} | {ends(act, 'loss')[norm]:.3f} | {last_epochs(act, norm)} |"
        for act in trained_acts()
        for norm in NORMS
    ]
    return "\n".join([head, *lines])


def harm() -> str:
    """How far sigmoid stays behind tanh with each norm."""
    if len(trained_acts()) < len(ACTS):
        return ""
    behind = {norm: ends("Tanh", "test")[norm] - ends("Sigmoid", "test")[norm] for norm in NORMS}
    printed = {norm: published("Tanh", norm) - published("Sigmoid", norm) for norm in NORMS}
    parts = [f"{behind[norm]:.1f} points with {norm} (published {printed[norm]:.2f})" for norm in NORMS]
    return f"Tanh is ahead of sigmoid by {' and '.join(parts)}."


def trained_acts() -> list[str]:
    """The activations with which both norms have been trained over the full schedule."""
    return [act for act in ACTS if set(ends(act, "test")) == set(NORMS)]


def ends(act: str, column: str) -> dict[str, float]:
    """By norm, a number of the runs of the full schedule."""
    found = scores(WHOLE, f"{act}/{column}")
    return {norm: found[f"{LARGE}: {norm}"] for norm in NORMS if f"{LARGE}: {norm}" in found}


def last_epochs(act: str, norm: str) -> str:
    """How steady the validation accuracy is."""
    curves = FOLDER / f"popnorm-setting-resnet20-weights-full-{act}-validation-validation-accuracy.csv"
    rows = [row for row in records(curves) if row["group"] == f"{LARGE}: {norm}"]
    values = [100 * float(row["mean"]) for row in sorted(rows, key=lambda row: float(row["at"]))[-LAST_EPOCHS:]]
    return f"{min(values):.1f} to {max(values):.1f}"


def published(act: str, norm: str) -> float:
    rows = [row for row in records(PAPER) if row["row"] == f"ResNet20/{act}" and row["column"] == f"CIFAR10/{norm}"]
    return float(rows[0]["published"])
