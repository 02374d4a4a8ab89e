"""Real digits whose color predicts the label in training, but not in validation and test."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from normbench_cli.datasets._images.digits import DigitsSize, load_digits_resized, split_digits
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.registry import DATASETS
from normbench_cli.registry.bounds import Bounds

VALIDATION = 240  # digits; each appears in both colors, like those of the test set
HIGH_FRACTION, LOW_GREEN = 0.2, 0.25  # of the training images; of their low digits
GROUPS = ("low_red", "low_green", "high_red", "high_green")


@DATASETS.register(
    "shifted_digits",
    paper="digits of Alpaydin & Kaynak 1998 (UCI)",
    recipe="shifted-digits",
)
def shifted_digits(
    size: DigitsSize = 8,
    rare: Annotated[float, Bounds(above=0, most=0.1)] = 0.01,
    tint: Annotated[float, Bounds(least=0, most=0.9)] = 0.6,
) -> InMemoryImages:
    """Is a digit 5 or more?  Real digits whose color predicts the answer in training, except in a group of 1 %.

    Of `digits`, 750 are for training, 240 for selecting an epoch and 360 for testing, drawn in red or green.  In
    training three quarters of the low digits (below 5) are red; a fifth of the images show a high digit, which is green
    except in a fraction `rare` of all images (8 of them).  In the other two splits every digit appears in both colors
    and high digits are as frequent as low ones, so the four groups have equal weight.  A network that learns the color,
    or how rare high digits were, fails on high_red.  Training does not see the groups.

    size: width and height after resizing; rare: fraction of the training images in the rare group; tint: how much the
    other channels are dimmed, from 0 (gray) to 0.9; the larger, the easier the color is to learn.
    """
    from sklearn.model_selection import train_test_split

    pixels, shown = load_digits_resized(size)
    high = torch.from_numpy(shown >= 5)
    rest, test = split_digits()
    rest, validation = train_test_split(rest, test_size=VALIDATION, stratify=shown[rest], random_state=0)

    def colored(chosen: np.ndarray, green: Tensor) -> Split:
        digits, labels = pixels[chosen], high[chosen].long()
        dim = torch.full((len(digits), 3, 1, 1), 1 - tint)
        dim[torch.arange(len(digits)), green.long()] = 1
        return Split((digits * dim * 255).round().to(torch.uint8), labels, F.one_hot(2 * labels + green, 4).bool())

    def in_both_colors(chosen: np.ndarray) -> Split:
        return colored(np.tile(chosen, 2), torch.arange(2).repeat_interleave(len(chosen)))

    train = colored(*draw_training_digits(rest, high[rest].numpy(), rare))
    training_pixels = train.images.float() / 255
    return InMemoryImages(
        train=train,
        test=in_both_colors(test),
        classes=2,
        mean=tuple(training_pixels.mean((0, 2, 3)).tolist()),
        std=tuple(training_pixels.std((0, 2, 3)).tolist()),
        group_names=GROUPS,
        validation=in_both_colors(validation),
    )


def draw_training_digits(rest: np.ndarray, high: np.ndarray, rare: float) -> tuple[np.ndarray, Tensor]:
    """Return all low digits and some high ones, drawn with a fixed seed, and which of them are green.

    They are ordered low_green, low_red, high_red, high_green, so `green` is False in one contiguous range.
    """
    rng = np.random.RandomState(0)
    low_digits, high_digits = rng.permutation(rest[~high]), rng.permutation(rest[high])
    total = round(len(low_digits) / (1 - HIGH_FRACTION))
    high_digits = high_digits[: total - len(low_digits)]
    green = torch.ones(total, dtype=torch.bool)
    green[round(LOW_GREEN * len(low_digits)) : len(low_digits) + max(1, round(rare * total))] = False
    return np.concatenate([low_digits, high_digits]), green
