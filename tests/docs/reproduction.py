"""What the front page of reports/reproduction says, computed from the csv files beside its pages."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tests.docs.graph_scores import farthest, graph_scores
from tests.docs.tables import REPORTS, records

FOLDER = REPORTS / "reproduction"
WEIGHTS = ("base", "init", "xavier")  # how the rows begin that vary nothing but the initial weights
NORMS = ("BatchNorm", "POP-Norm")
ACTS = ("Sigmoid", "Tanh")
WIDTH = 118  # characters of a line
UNDECIDED = "not enough evidence"
LEAST_GAIN = 6  # points: the least that "about 8" is read as, as in the suites' claims


class Study(NamedTuple):
    """A suite of POP-Norm's open choices, at a scale."""

    page: Path
    suite: str


PAPER = FOLDER / "reproduce-popnorm-full.csv"
SHORT, FULL = (FOLDER / f"reproduce-popnorm-setting-{end}.csv" for end in ("short", "resnet20-weights-full"))
LAST_EPOCHS = 10
LARGE = "xavier x 3"  # the weights of the full schedule
EVERY_CHOICE, WITHOUT_SHORTCUTS = (Study(SHORT, f"popnorm-setting/{net}") for net in ("resnet20", "vgg16"))
LONGER, WHOLE = (Study(page, "popnorm-setting/resnet20-weights") for page in (SHORT, FULL))


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
        f"| {row['claim']} | {page_link(path)} | **{row['verdict']}** | {row['n']} |"
        for path in sorted(FOLDER.glob("reproduce-*.csv"))
        for row in records(path)
        if row["claim"] and row["verdict"] != UNDECIDED
    ]
    if not rows:
        return "None yet."
    return "\n".join(["| claim | page | verdict on these schedules | n |", "|---|---|---|---:|", *rows])


def page_link(path: Path) -> str:
    return f"[{path.stem.removeprefix('reproduce-')}]({path.stem}.md)"


def weights_finding() -> str:
    """How far the initial weights move the accuracy, and how far the norm does with equal weights."""
    spans, gains = over_weights()
    widths = sorted(max(values) - min(values) for values in spans.values())
    return textwrap.fill(
        "**The initial weights, which the paper does not state, change the test accuracy by "
        f"{widths[0]:.0f} to {widths[-1]:.0f} points.** "
        f"ResNet-20 with sigmoid, {conditions(EVERY_CHOICE)}: over {len(gains)} initial weights the test accuracy goes "
        f"{range_of(spans['BatchNorm'])} with BatchNorm and {range_of(spans['POP-Norm'])} with POP-Norm. With equal "
        f"weights POP-Norm differs by {fmean(gains):+.1f} points on average ({min(gains):+.1f} to {max(gains):+.1f}).",
        WIDTH,
    )


def vgg_finding() -> str:
    """The same in a network without shortcuts, where it is recorded."""
    spans, gains = over_weights(WITHOUT_SHORTCUTS)
    if not gains:
        return "In VGG16 nothing is recorded yet."
    return textwrap.fill(
        f"**In a VGG16 with a quarter of the channels, POP-Norm differs from BatchNorm by {fmean(gains):+.1f} points "
        f"on average** ({min(gains):+.1f} to {max(gains):+.1f}) with sigmoid and equal initial weights, over "
        f"{len(gains)} initial weights, {conditions(WITHOUT_SHORTCUTS)}: BatchNorm "
        f"{range_of(spans['BatchNorm'])}, POP-Norm {range_of(spans['POP-Norm'])}.",
        WIDTH,
    )


def readme_findings() -> str:
    """The three most interesting findings as a list, for the README."""
    spans, gains = over_weights()
    found = [
        f"with {act.lower()} "
        + ", ".join(f"{norm} {ends(act, 'test')[norm]:.1f} % ({published(act, norm):.2f})" for norm in NORMS)
        for act in trained_acts()
    ]
    graphs = graph_scores()
    points = [
        f"**POP-Norm, full schedule** (ResNet-20, CIFAR-10, {conditions(WHOLE)}), ours (published): "
        f"{'; '.join(found)}.",
        f"**Early in training with sigmoid** ({conditions(EVERY_CHOICE)}), the initial weights, which the paper does "
        f"not state, take BatchNorm {range_of(spans['BatchNorm'])} in ResNet-20, where POP-Norm adds "
        f"{fmean(gains):.1f} points with equal weights; in a narrow VGG16, without shortcuts, it adds "
        f"{fmean(over_weights(WITHOUT_SHORTCUTS)[1]):.1f}.",
        f"**AugNorm on MUTAG**: {len(graphs)} scores come back within {farthest(graphs):.1f} points, "
        f"n={graphs[0]['n']} folds.",
    ]
    return "\n".join(textwrap.fill(f"- {point}", WIDTH, subsequent_indent="  ") for point in points)


def over_weights(study: Study = EVERY_CHOICE) -> tuple[dict[str, list[float]], list[float]]:
    """By norm the test accuracies with sigmoid over the initial weights that both have, and POP-Norm's gains."""
    scores = {norm: by_weights(study, norm) for norm in NORMS}
    shared = [weights for weights in scores["BatchNorm"] if weights in scores["POP-Norm"]]
    spans = {norm: [found[weights] for weights in shared] for norm, found in scores.items()}
    return spans, [pop - batch for batch, pop in zip(spans["BatchNorm"], spans["POP-Norm"], strict=True)]


def range_of(values: list[float]) -> str:
    return f"from {min(values):.1f} to {max(values):.1f} %"


def best_finding() -> str:
    """Each norm at its best, chosen by the validation accuracy, in each network and on each schedule."""
    lines = [line for study in (EVERY_CHOICE, WITHOUT_SHORTCUTS, LONGER) if (line := best_of(study))]
    found = {gain >= LEAST_GAIN for _, gain in lines}
    seen = "seen in one network and not in the other" if len(found) == 2 else "seen" if found == {True} else "not seen"
    head = (
        "**With sigmoid and each norm at its best by validation accuracy, the paper's gain of about 8 points is "
        f"{seen} on short schedules.**"
    )
    return textwrap.fill(" ".join([head, *(text for text, _ in lines)]), WIDTH)


def best_of(study: Study) -> tuple[str, float] | None:
    chosen = {norm: best_row(study, norm) for norm in NORMS}
    if any(found is None for found in chosen.values()):
        return None
    test = {norm: scores(study, "Sigmoid/test")[f"{row}: {norm}"] for norm, row in chosen.items()}
    counts = {norm: sum(row.endswith(f": {norm}") for row in scores(study, "Sigmoid/validation")) for norm in NORMS}
    texts = [f"{norm} {test[norm]:.1f} % ({row}, best of {counts[norm]})" for norm, row in chosen.items()]
    gain = test["POP-Norm"] - test["BatchNorm"]
    network = "Narrow VGG16" if study == WITHOUT_SHORTCUTS else "ResNet-20"
    return f"{network} after {conditions(study)}: {', '.join(texts)}, {gain:+.1f} points.", gain


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


def best_row(study: Study, norm: str) -> str | None:
    """The choice with the highest validation accuracy."""
    found = {row: value for row, value in scores(study, "Sigmoid/validation").items() if row.endswith(f": {norm}")}
    return max(found, key=found.__getitem__).rpartition(": ")[0] if found else None


def by_weights(study: Study, norm: str) -> dict[str, float]:
    """Test accuracy with sigmoid by initial weights."""
    found = {row.rpartition(": "): value for row, value in scores(study, "Sigmoid/test").items()}
    return {row: value for (row, _, of), value in found.items() if of == norm and row.startswith(WEIGHTS)}


def scores(study: Study, column: str) -> dict[str, float]:
    rows = [row for row in measured(study) if row["column"] == column]
    return {row["row"]: float(row["ours"]) for row in rows}


def conditions(study: Study) -> str:
    """300 of 30000 iterations, n=1"""
    rows = measured(study)
    return f"{rows[0]['schedule']}, n={'/'.join(sorted({row['n'] for row in rows}))}"


def measured(study: Study) -> list[dict[str, str]]:
    if not study.page.exists():
        return []
    return [row for row in records(study.page) if row["suite"] == study.suite and row.get("ours")]
