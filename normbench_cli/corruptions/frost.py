"""Frost: adds photographs of frost to the image.  Needs the five photographs of the published sets."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image as PILImage

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels, Severity, Table, luma
from normbench_cli.errors import NormbenchError
from normbench_cli.paths import data_root
from normbench_cli.registry import CORRUPTIONS
from normbench_cli.registry.bounds import Seed

PHOTOGRAPHS = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")  # the sixth is never drawn
PACKAGE = "imagecorruptions"  # contains the photographs; it is never imported


@CORRUPTIONS.register("frost", paper="Hendrycks & Dietterich 2019", family="weather", files=True)
class Frost(GeneratedCorruption):
    """A random crop of one of five photographs of frost, added to the image: a x + b frost.

    The photographs are searched in the folder `frost` of the data folder and in the package imagecorruptions, where
    `pip install --no-deps imagecorruptions-imaug` puts them.  A level is a and b.
    """

    cifar = ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
    imagenet = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))
    channels = (1, 3)

    def __init__(self, severity: Severity, seed: Seed = 0, table: Table = "auto") -> None:
        super().__init__(severity, seed, table)
        self._folder = find_photographs()

    def corrupt_image(self, image: Image, level: tuple[float, float], rng: np.random.Generator) -> Pixels:
        height, width, channels = image.shape
        photograph = read_photograph(self._folder / PHOTOGRAPHS[rng.integers(len(PHOTOGRAPHS))])
        if self.uses_cifar_table(min(height, width)):
            photograph = photograph[2::5, 2::5]  # same as resizing to a fifth without smoothing
        photograph = enlarge_to_cover(photograph, height, width)
        top, left = (
            rng.integers(there - size + 1) for there, size in zip(photograph.shape, (height, width), strict=False)
        )
        crop = photograph[top : top + height, left : left + width] / 255
        frosted: Pixels = level[0] * image / 255 + level[1] * (crop if channels == 3 else luma(crop))
        return frosted


def find_photographs() -> Path:
    """Find the folder that holds the photographs."""
    package = find_spec(PACKAGE)
    installed = (package.submodule_search_locations if package else None) or ()
    places = [data_root() / "frost", *(Path(place) / "frost" for place in installed)]
    for folder in places:
        if all((folder / name).is_file() for name in PHOTOGRAPHS):
            return folder
    raise NormbenchError(
        f"frost needs its five photographs, {PHOTOGRAPHS[0]} to {PHOTOGRAPHS[-1]}, which are not in {places[0]}",
        "put them there, or run `pip install --no-deps imagecorruptions-imaug`, which contains them",
    )


@lru_cache(maxsize=len(PHOTOGRAPHS))
def read_photograph(path: Path) -> Image:
    try:
        with PILImage.open(path) as file:
            return np.array(file.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # Pillow raises any of these for a damaged file
        raise NormbenchError(f"{path} cannot be read as an image", "copy it again") from error


def enlarge_to_cover(photograph: Image, height: int, width: int) -> Image:
    """Enlarge the photograph if the image is larger."""
    factor = max(height / photograph.shape[0], width / photograph.shape[1])
    if factor <= 1:
        return photograph
    size = round(photograph.shape[1] * factor + 0.5), round(photograph.shape[0] * factor + 0.5)
    return np.array(PILImage.fromarray(photograph).resize(size, PILImage.Resampling.BILINEAR))
