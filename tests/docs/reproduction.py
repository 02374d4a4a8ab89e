"""What the front page of reports/reproduction says, computed from the csv files beside its pages."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from tests.docs.tables import REPORTS, records

FOLDER = REPORTS / "reproduction"
GRAPHS = FOLDER / "reproduce-augnorm-graph-full.csv"
WEIGHTS = ("base", "init", "xavier")  # how the rows begin that vary nothing but the initial weights
NORMS = ("BatchNorm", "POP-Norm")
WIDTH = 118  # characters of a line
UNDECIDED = "not enough evidence"
LEAST_GAIN = 6  # points: the least that "about 8" is read as, as in the suites' claims


class Study(NamedTuple):
    """A suite of POP-Norm's open choices, at a scale."""

    page: Path
    suite: str


PAPER = FOLDER / "reproduce-popnorm-full.csv"
SHORT, FULL = (FOLDER / f"reproduce-popnorm-setting-{end}.csv" for end in ("short", "resnet20-weights-full"))
CURVES = FOLDER / "popnorm-setting-resnet20-weights-full-Sigmoid-validation-validation-accuracy.csv"
LAST_EPOCHS = 10
LARGE = "xavier x 3"  # the weights of the full schedule
EVERY_CHOICE = Study(SHORT, "popnorm-setting/resnet20")
LONGER, WHOLE = (Study(page, "popnorm-setting/resnet20-weights") for page in (SHORT, FULL))


def pages_table() -> str:
    """A Markdown table of the pages: what is recorded, and what is left open."""
    head = "| page | scale | schedules | runs | claims | hours to settle the rest |\n|---|---|---|---:|---|---:|"
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


def readme_finding() -> str:
    """The findings on sigmoid in a paragraph, for the README."""
    spans, gains = over_weights()
    test = scores(WHOLE, "Sigmoid/test")
    span = f"[weights](normbench_cli/docs/initial-weights.md) take BatchNorm {range_of(spans['BatchNorm'])}"
    ends = [f"{norm} {test[f'{LARGE}: {norm}']:.1f} % (published {published(norm)})" for norm in NORMS]
    return textwrap.fill(
        "**Do the papers' numbers come back?** [So far](reports/reproduction/README.md), sigmoid, ResNet-20, CIFAR-10, "
        f"{conditions(WHOLE)}: {', '.join(ends)}. After {conditions(EVERY_CHOICE)}, "
        f"{span}, the norm adds "
        f"{fmean(gains):.1f} points.",
        WIDTH,
    )


def over_weights() -> tuple[dict[str, list[float]], list[float]]:
    """By norm the test accuracies with sigmoid over the initial weights that both have, and POP-Norm's gains."""
    scores = {norm: by_weights(norm) for norm in NORMS}
    shared = [weights for weights in scores["BatchNorm"] if weights in scores["POP-Norm"]]
    spans = {norm: [found[weights] for weights in shared] for norm, found in scores.items()}
    return spans, [pop - batch for batch, pop in zip(spans["BatchNorm"], spans["POP-Norm"], strict=True)]


def range_of(values: list[float]) -> str:
    return f"from {min(values):.1f} to {max(values):.1f} %"


def best_finding() -> str:
    """Each norm at its best, chosen by the validation accuracy, on each schedule."""
    lines = [line for study in (EVERY_CHOICE, LONGER) if (line := best_of(study))]
    head = (
        "**With sigmoid and each norm at its best by validation accuracy, the paper's gain of about 8 points is "
        f"{'not seen' if all(gain < LEAST_GAIN for _, gain in lines) else 'seen'} on short schedules.**"
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
    return f"After {conditions(study)}: {', '.join(texts)}, {gain:+.1f} points.", gain


def whole_finding() -> str:
    """Both norms with equal weights at the end of the paper's schedule."""
    test, training = (scores(WHOLE, f"Sigmoid/{column}") for column in ("test", "training"))
    loss, weights = scores(WHOLE, "Sigmoid/loss"), shared_rows(test)
    gains = {row: test[f"{row}: POP-Norm"] - test[f"{row}: BatchNorm"] for row in weights}
    pairs = [
        f"{row}: "
        + ", ".join(
            f"{norm} {test[f'{row}: {norm}']:.1f} % (training {training[f'{row}: {norm}']:.1f} %, "
            f"loss {loss[f'{row}: {norm}']:.3f})"
            for norm in NORMS
        )
        for row in weights
    ]
    return textwrap.fill(
        "**At the end of the full schedule, with sigmoid and equal initial weights, POP-Norm leads BatchNorm by "
        f"{range_of_gains(gains)} points of test accuracy.** {conditions(WHOLE)}, bf16: {'; '.join(pairs)}. "
        f"Published: {', '.join(f'{norm} {published(norm)} %' for norm in NORMS)}. {swings()}",
        WIDTH,
    )


def swings() -> str:
    """How steady the validation accuracy is."""
    rows = [row for row in records(CURVES) if row["group"].startswith(f"{LARGE}: ")]
    last = sorted({float(row["at"]) for row in rows})[-LAST_EPOCHS:]
    found = {
        norm: [100 * float(row["mean"]) for row in rows if row["group"].endswith(norm) and float(row["at"]) in last]
        for norm in NORMS
    }
    ranges = " and ".join(f"{range_of(values)} with {norm}" for norm, values in found.items())
    return f"In the last {LAST_EPOCHS} epochs the validation accuracy, by running statistics, varies {ranges}."


def published(norm: str) -> str:
    rows = [row for row in records(PAPER) if row["row"] == "ResNet20/Sigmoid" and row["column"] == f"CIFAR10/{norm}"]
    return f"{float(rows[0]['published']):.2f}"


def shared_rows(found: dict[str, float]) -> list[str]:
    """The choices that both norms have been trained with."""
    rows = dict.fromkeys(row.rpartition(": ")[0] for row in found)
    return [row for row in rows if all(f"{row}: {norm}" in found for norm in NORMS)]


def range_of_gains(gains: dict[str, float]) -> str:
    values = sorted({f"{gain:.1f}" for gain in (min(gains.values()), max(gains.values()))}, key=float)
    return " to ".join(values)


def best_row(study: Study, norm: str) -> str | None:
    """The choice with the highest validation accuracy."""
    found = {row: value for row, value in scores(study, "Sigmoid/validation").items() if row.endswith(f": {norm}")}
    return max(found, key=found.__getitem__).rpartition(": ")[0] if found else None


def graph_finding() -> str:
    """Our scores on MUTAG beside the published ones."""
    rows = [row for row in records(GRAPHS) if row["suite"].endswith("table2") and row["column"] == "MUTAG"]
    rows = [row for row in rows if row["published_sd"] and row["ours"]]
    if not rows:
        return "On MUTAG nothing is recorded yet."
    pairs = [
        f"{row['row']} {float(row['ours']):.1f} ({float(row['published']):.1f}{', ' * bool(row['kind'])}{row['kind']})"
        for row in rows
    ]
    far = max(abs(float(row["difference"])) for row in rows)
    return textwrap.fill(
        f"**On MUTAG the paper's scores come back within {far:.1f} points**, {rows[0]['schedule']}, "
        f"n={rows[0]['n']} folds, ours (published): {'; '.join(pairs)}. The sd over folds is "
        f"{min(float(row['sd']) for row in rows):.1f} points or more, so one seed ranks none of them.",
        WIDTH,
    )


def by_weights(norm: str) -> dict[str, float]:
    """Test accuracy with sigmoid by initial weights."""
    found = {row.rpartition(": "): value for row, value in scores(EVERY_CHOICE, "Sigmoid/test").items()}
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
