"""scikit-learn's handwritten digits, which need no download, and their training and test splits.

Both are read from files: importing scikit-learn takes a second, which is long compared to training on digits.
"""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from normbench_cli.registry.bounds import Bounds

DigitsSize = Annotated[int, Bounds(least=8, most=224)]  # all images are in memory
DIGITS = Path("datasets", "data", "digits.csv.gz")  # in scikit-learn's folder
SPLIT = Path(__file__).with_name("digits_split.json")


def load_digits_resized(size: int) -> tuple[Tensor, np.ndarray]:
    """All 1,797 images as pixels in 0-1, float32 (N, 1, size, size), resized from 8x8, and their labels."""
    images, shown = read_digits()
    pixels = torch.from_numpy(images / 16).float().unsqueeze(1)
    if size != 8:
        pixels = F.interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False)
    return pixels, shown


def read_digits() -> tuple[np.ndarray, np.ndarray]:
    """The images (N, 8, 8) with values from 0 to 16, and their labels, as from scikit-learn's `load_digits`."""
    package = find_spec("sklearn")
    file = Path(package.origin if package and package.origin else "").parent / DIGITS
    if not file.exists():  # a version with other folders
        from sklearn.datasets import load_digits

        bunch = load_digits()
        return bunch.images, bunch.target
    with gzip.open(file, "rt") as text:
        rows = np.loadtxt(text, delimiter=",")
    return rows[:, :-1].reshape(-1, 8, 8), rows[:, -1].astype(int)


def split_digits() -> tuple[np.ndarray, np.ndarray]:
    """The indices of 1,437 training and 360 test digits, stratified by class, as from scikit-learn's `train_test_split`
    with `random_state=0`."""
    split = json.loads(SPLIT.read_text())
    return np.array(split["train"]), np.array(split["test"])
