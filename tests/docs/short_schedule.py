"""POP-Norm's open choices on the short schedule, from the csv files of the pages."""

from __future__ import annotations

import textwrap
from statistics import fmean

from tests.docs.study import NORMS, RESNET20, VGG16, WIDTH, Study, conditions, range_of, scores

WEIGHTS = ("base", "init", "xavier")  # how the rows begin that vary nothing but the initial weights


def weights_finding() -> str:
    """How far the initial weights move the accuracy, and how far the norm does with equal weights."""
    spans, gains = over_weights()
    widest = max(max(values) - min(values) for values in spans.values())
    return textwrap.fill(
        "**The initial weights, which the paper does not state, change the test accuracy by up to "
        f"{widest:.0f} points.** "
        f"ResNet-20 with sigmoid, {conditions(RESNET20)}: over {len(gains)} initial weights the test accuracy goes "
        f"{range_of(spans['BatchNorm'])} with BatchNorm and {range_of(spans['POP-Norm'])} with POP-Norm. With equal "
        f"weights POP-Norm differs by {fmean(gains):+.1f} points on average ({min(gains):+.1f} to {max(gains):+.1f}).",
        WIDTH,
    )


def vgg_finding() -> str:
    """The same in a network without shortcuts, where it is recorded."""
    spans, gains = over_weights(VGG16)
    if not gains:
        return "In VGG16 nothing is recorded yet."
    return textwrap.fill(
        f"**In a VGG16 with a quarter of the channels, POP-Norm differs from BatchNorm by {fmean(gains):+.1f} points "
        f"on average** ({min(gains):+.1f} to {max(gains):+.1f}) with sigmoid and equal initial weights, over "
        f"{len(gains)} initial weights, {conditions(VGG16)}: BatchNorm "
        f"{range_of(spans['BatchNorm'])}, POP-Norm {range_of(spans['POP-Norm'])}.",
        WIDTH,
    )


def over_weights(study: Study = RESNET20) -> tuple[dict[str, list[float]], list[float]]:
    """By norm the test accuracies with sigmoid over the initial weights that both have, and POP-Norm's gains."""
    scores = {norm: by_weights(study, norm) for norm in NORMS}
    shared = [weights for weights in scores["BatchNorm"] if weights in scores["POP-Norm"]]
    spans = {norm: [found[weights] for weights in shared] for norm, found in scores.items()}
    return spans, [pop - batch for batch, pop in zip(spans["BatchNorm"], spans["POP-Norm"], strict=True)]


def by_weights(study: Study, norm: str) -> dict[str, float]:
    """Test accuracy with sigmoid by initial weights."""
    found = {row.rpartition(": "): value for row, value in scores(study, "Sigmoid/test").items()}
    return {row: value for (row, _, of), value in found.items() if of == norm and row.startswith(WEIGHTS)}
