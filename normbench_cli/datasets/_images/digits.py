"""scikit-learn's handwritten digits, which need no download."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from normbench_cli.registry.bounds import Bounds

DigitsSize = Annotated[int, Bounds(least=8, most=224)]  # all images are in memory


def load_digits_resized(size: int) -> tuple[Tensor, np.ndarray]:
    """All 1,797 images as pixels in 0-1, float32 (N, 1, size, size), resized from 8x8; and the digit each shows."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pixels = torch.from_numpy(bunch.images / 16).float().unsqueeze(1)
    if size != 8:
        pixels = F.interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False)
    return pixels, bunch.target
