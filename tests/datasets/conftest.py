"""A data folder of the test's own, and small image files in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.datasets.made_files import MakePictures


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def pictures(tmp_path: Path) -> MakePictures:
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
