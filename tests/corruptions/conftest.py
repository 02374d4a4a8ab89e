"""A data folder of the test's own, with plain pictures in the place of the photographs of frost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from normbench_cli.corruptions.frost import PHOTOGRAPHS


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("NORMBENCH_DATA", str(folder))
    return folder


@pytest.fixture
def frost(data_folder: Path) -> Path:
    """The folder of five pictures, each of one gray value: 150, 160, ... 190."""
    folder = data_folder / "frost"
    folder.mkdir()
    for number, name in enumerate(PHOTOGRAPHS):
        gray = np.full((300, 260, 3), 150 + 10 * number, np.uint8)
        Image.fromarray(gray).save(folder / name, quality=100)
    return folder
