"""POP-Norm's open choices on the short schedule, from the csv files of the pages."""

from __future__ import annotations

import textwrap
from statistics import fmean
from typing import NamedTuple

from tests.docs.study import NORMS, RESNET20, VGG16, WIDTH, Study, conditions, range_of, scores

WEIGHTS = ("base", "init", "xavier")  # how the rows begin that vary nothing but the initial weights
NETWORKS = {"ResNet-20": RESNET20, "narrow VGG16": VGG16}
ACTS = ("Sigmoid", "Tanh", "ReLU")


class OverWeights(NamedTuple):
    """Test accuracies over the initial weights from which both norms were trained.  spans: by norm.  gains: POP-Norm's
    minus BatchNorm's, with the same weights."""

    spans: dict[str, list[float]]
    gains: list[float]


def weights_finding() -> str:
    """How far the initial weights move the accuracy, and how far the norm does with equal weights."""
    found = {
        (network, act): over_weights(study, act)
        for network, study in NETWORKS.items()
        for act in ACTS
        if over_weights(study, act).gains
    }
    widest = max(max(values) - min(values) for one in found.values() for values in one.spans.values())
    fewest, most = (of(len(one.gains) for one in found.values()) for of in (min, max))
    count = str(most) if fewest == most else f"{fewest} to {most}"
    text = (
        "**The initial weights, which the paper does not state, change the test accuracy by up to "
        f"{widest:.0f} points.** {conditions(RESNET20)}, {count} initial weights, each for both norms. The narrow "
        "VGG16 has a quarter of the channels. Test accuracy over the weights, and POP-Norm's gain with equal weights, "
        "on average (range):"
    )
    return "\n\n".join([textwrap.fill(text, WIDTH), weights_table(found), *relu_sentence(found)])


def relu_sentence(found: dict[tuple[str, str], OverWeights]) -> list[str]:
    """Whether the gain is larger without a saturating activation."""
    gains = {key: fmean(one.gains) for key, one in found.items()}
    if not all(gains.get((network, "ReLU"), 0.0) > gains[network, "Sigmoid"] for network in NETWORKS):
        return []
    return [
        textwrap.fill(
            "On average POP-Norm gains no less with relu, which has one seed, than with sigmoid. Its early gain does "
            "not look specific to sigmoid.",
            WIDTH,
        )
    ]


def weights_table(found: dict[tuple[str, str], OverWeights]) -> str:
    head = "| network | activation | BatchNorm | POP-Norm | POP-Norm's gain, points |\n|---|---|---:|---:|---:|"
    lines = [
        f"| {network} | {act.lower()} | {' | '.join(range_of(one.spans[norm]) for norm in NORMS)} | "
        f"{fmean(one.gains):+.1f} ({min(one.gains):+.1f} to {max(one.gains):+.1f}) |"
        for (network, act), one in found.items()
    ]
    return "\n".join([head, *lines])


def over_weights(study: Study = RESNET20, act: str = "Sigmoid") -> OverWeights:
    scores = {norm: by_weights(study, act, norm) for norm in NORMS}
    shared = [weights for weights in scores["BatchNorm"] if weights in scores["POP-Norm"]]
    spans = {norm: [found[weights] for weights in shared] for norm, found in scores.items()}
    gains = [pop - batch for batch, pop in zip(spans["BatchNorm"], spans["POP-Norm"], strict=True)]
    return OverWeights(spans, gains)


def by_weights(study: Study, act: str, norm: str) -> dict[str, float]:
    """Test accuracy by initial weights."""
    found = {row.rpartition(": "): value for row, value in scores(study, f"{act}/test").items()}
    return {row: value for (row, _, of), value in found.items() if of == norm and row.startswith(WEIGHTS)}
