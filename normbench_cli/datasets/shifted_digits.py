"""Real digits with a colour that goes with the answer in training, and with nothing afterwards."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from normbench_cli.datasets._images.memory import Dataset, Split
from normbench_cli.registry import DATASETS

TEST, VALIDATION = 360, 240  # digits; each is there in both colours
HIGH_SHARE, LOW_GREEN = 0.2, 0.25  # of the training images; of the low ones among them
GROUPS = ("low_red", "low_green", "high_red", "high_green")


@DATASETS.register(
    "shifted_digits",
    paper="digits of Alpaydin & Kaynak 1998 (UCI)",
    recipe="shifted-digits",
)
def shifted_digits(size: int = 8, rare: float = 0.01, tint: float = 0.6) -> Dataset:
    """Is a digit 5 or more?  Real digits, with a colour that goes with the answer in training but for a group of 1 %.

    Of `digits`, 750 to train, 240 to choose an epoch by and 360 to test, drawn in red or green.  In training three
    quarters of the low digits (below 5) are red; a fifth of the images show a high one, green but for the share `rare`
    of all images (8 of them).  In the other two splits every digit comes in both colours, and there are as many high
    ones as low, so the four groups weigh the same.  What learns the colour, or how rare high digits were, fails on
    high_red.  Training is not told of groups.

    size: width and height after resizing; rare: share of the training images in the rare group; tint: how far the
    other channels are dimmed, from 0 (grey) to 0.9; the more, the easier the colour is to learn.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    if not 8 <= size <= 224:
        raise ValueError(f"size is {size}; give 8 to 224")
    if not 0 < rare <= 0.1:
        raise ValueError(f"rare is {rare:g}; give a share above 0 and at most 0.1")
    if not 0 <= tint <= 0.9:
        raise ValueError(f"tint is {tint:g}; give 0 to 0.9")
    bunch = load_digits()
    pixels = torch.from_numpy(bunch.images / 16).float().unsqueeze(1)
    if size != 8:
        pixels = F.interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False)
    high = torch.from_numpy(bunch.target >= 5)
    rest, test = train_test_split(np.arange(len(high)), test_size=TEST, stratify=bunch.target, random_state=0)
    rest, validation = train_test_split(rest, test_size=VALIDATION, stratify=bunch.target[rest], random_state=0)

    def coloured(chosen: np.ndarray, green: Tensor) -> Split:
        digits, labels = pixels[chosen], high[chosen].long()
        dim = torch.full((len(digits), 3, 1, 1), 1 - tint)
        dim[torch.arange(len(digits)), green.long()] = 1
        return Split((digits * dim * 255).round().to(torch.uint8), labels, F.one_hot(2 * labels + green, 4).bool())

    def both_ways(chosen: np.ndarray) -> Split:
        return coloured(np.tile(chosen, 2), torch.arange(2).repeat_interleave(len(chosen)))

    seen = coloured(*with_a_rare_group(rest, high[rest].numpy(), rare))
    shares = seen.images.float() / 255
    return Dataset(
        train=seen,
        test=both_ways(test),
        classes=2,
        mean=tuple(shares.mean((0, 2, 3)).tolist()),
        std=tuple(shares.std((0, 2, 3)).tolist()),
        group_names=GROUPS,
        validation=both_ways(validation),
    )


def with_a_rare_group(rest: np.ndarray, high: np.ndarray, rare: float) -> tuple[np.ndarray, Tensor]:
    """All low digits and some high ones, drawn once and for all, and which of them are green."""
    draw = np.random.RandomState(0)
    low_ones, high_ones = draw.permutation(rest[~high]), draw.permutation(rest[high])
    total = round(len(low_ones) / (1 - HIGH_SHARE))
    high_ones = high_ones[: total - len(low_ones)]
    green = torch.ones(total, dtype=torch.bool)
    green[round(LOW_GREEN * len(low_ones)) : len(low_ones) + max(1, round(rare * total))] = False
    return np.concatenate([low_ones, high_ones]), green
