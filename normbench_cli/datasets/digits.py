"""The handwritten digits that come with scikit-learn: real data that needs no download."""

from __future__ import annotations

import torch

from normbench_cli.datasets._images.digits import DigitsSize, load_digits_resized, split_digits
from normbench_cli.datasets._images.memory import InMemoryImages, Split
from normbench_cli.registry import DATASETS


@DATASETS.register("digits", paper="Alpaydin & Kaynak 1998 (UCI)", recipe="digits")
def digits(size: DigitsSize = 16) -> InMemoryImages:
    """1,797 real handwritten digits, 8x8 pixels resized; 1,437 to train and 360 to test, stratified by class.

    size: width and height after resizing.
    """
    pixels, shown = load_digits_resized(size)
    images = (pixels * 255).round().to(torch.uint8)
    labels = torch.from_numpy(shown).long()
    train, test = split_digits()
    training_pixels = images[train].float() / 255
    return InMemoryImages(
        train=Split(images[train], labels[train]),
        test=Split(images[test], labels[test]),
        classes=10,
        mean=(training_pixels.mean().item(),),
        std=(training_pixels.std().item(),),
    )
