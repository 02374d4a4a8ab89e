"""The handwritten digits that come with scikit-learn: real data that needs no download."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from normbench_cli.datasets._images.memory import Dataset, Split
from normbench_cli.registry import DATASETS

TEST_SAMPLES = 360


@DATASETS.register("digits", paper="Alpaydin & Kaynak 1998 (UCI)", recipe="digits")
def digits(size: int = 16) -> Dataset:
    """1,797 real handwritten digits, 8x8 pixels resized; 1,437 to train and 360 to test, in equal shares of each class.

    size: width and height after resizing.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    if not 8 <= size <= 224:
        raise ValueError(f"size is {size}; give 8 to 224")
    bunch = load_digits()
    pixels = torch.from_numpy(bunch.images / 16).float().unsqueeze(1)
    if size != 8:
        pixels = F.interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False)
    images = (pixels * 255).round().to(torch.uint8)
    labels = torch.from_numpy(bunch.target).long()
    train, test = train_test_split(
        np.arange(len(labels)), test_size=TEST_SAMPLES, stratify=bunch.target, random_state=0
    )
    seen = images[train].float() / 255
    return Dataset(
        train=Split(images[train], labels[train]),
        test=Split(images[test], labels[test]),
        classes=10,
        mean=(seen.mean().item(),),
        std=(seen.std().item(),),
    )
