"""Frost: photographs of it laid over the image.  It needs the five photographs of the published sets."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from normbench_cli.corruptions.base import Array, Generated, Table, grey
from normbench_cli.errors import NormbenchError
from normbench_cli.paths import data_root
from normbench_cli.registry import CORRUPTIONS

PICTURES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")  # there is a sixth, never drawn
PACKAGE = "imagecorruptions"  # brings the photographs along; nothing of it is imported


@CORRUPTIONS.register("frost", paper="Hendrycks & Dietterich 2019", family="weather", files=True)
class Frost(Generated):
    """A random piece of one of five photographs of frost laid over the image: a x + b frost.

    The photographs are looked for in the folder `frost` of the data folder and in the package imagecorruptions, as
    `pip install --no-deps imagecorruptions-imaug` puts it there.  A level is a and b.
    """

    cifar = ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
    imagenet = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
    channels = (1, 3)

    def __init__(self, severity: int, seed: int = 0, table: Table = "auto") -> None:
        super().__init__(severity, seed, table)
        self._folder = folder_of_pictures()

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        height, width, channels = image.shape
        picture = read(self._folder / PICTURES[draw.integers(len(PICTURES))])
        if self.takes_cifar(min(height, width)):
            picture = picture[2::5, 2::5]  # what resizing to a fifth without smoothing gives
        picture = covering(picture, height, width)
        top, left = (
            draw.integers(there - size + 1) for there, size in zip(picture.shape, (height, width), strict=False)
        )
        piece = picture[top : top + height, left : left + width] / 255
        return level[0] * image / 255 + level[1] * (piece if channels == 3 else grey(piece))


def folder_of_pictures() -> Path:
    package = find_spec(PACKAGE)
    installed = (package.submodule_search_locations if package else None) or ()
    places = [data_root() / "frost", *(Path(place) / "frost" for place in installed)]
    for folder in places:
        if all((folder / name).is_file() for name in PICTURES):
            return folder
    raise NormbenchError(
        f"frost needs its five photographs, {PICTURES[0]} to {PICTURES[-1]}, which are not in {places[0]}",
        "put them there, or run `pip install --no-deps imagecorruptions-imaug`, which brings them",
    )


@lru_cache(maxsize=len(PICTURES))
def read(path: Path) -> Array:
    try:
        with Image.open(path) as file:
            return np.array(file.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # what PIL raises on a file that ends early or is none
        raise NormbenchError(f"{path} cannot be read as an image", "copy it again") from error


def covering(picture: Array, height: int, width: int) -> Array:
    """The picture, enlarged if the image is larger than it."""
    factor = max(height / picture.shape[0], width / picture.shape[1])
    if factor <= 1:
        return picture
    size = round(picture.shape[1] * factor + 0.5), round(picture.shape[0] * factor + 0.5)
    return np.array(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
