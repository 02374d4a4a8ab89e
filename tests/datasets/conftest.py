"""Small image files, generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def pictures(tmp_path: Path) -> Callable[..., Path]:
    """`pictures({"train/cat": 3, ...})` makes so many images in each folder, of several sizes: the folder of all."""

    def make(counts: dict[str, int], at: str = "pictures", endings: Iterable[str] = ("png", "jpg", "JPEG")) -> Path:
        draw, endings, sizes = np.random.default_rng(0), list(endings), [(40, 30), (30, 50), (33, 33)]
        for name, count in counts.items():
            folder = tmp_path / at / name
            folder.mkdir(parents=True)
            for number in range(count):
                width, height = sizes[number % 3]
                pixels = draw.integers(0, 256, (height, width, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{number:03}.{endings[number % len(endings)]}")
        return tmp_path / at

    return make
