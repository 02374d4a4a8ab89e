"""What a network sees of a photograph: the protocols of ImageNet, that of POP-Norm and the customary one.

A view takes an image, which one it is and which of its draws, and gives an image of the size wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from PIL import Image, ImageOps

from normbench_cli.datasets._images.crops import centred, flipped, random_share, random_window
from normbench_cli.datasets._images.memory import Augment

View = Callable[[Image.Image, int, int], Image.Image]
Crop = Literal["popnorm", "resized"]

MARGIN = 256 / 224  # an image is made this much larger than what is cut out of it
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of the customary random crop
BILINEAR = Image.Resampling.BILINEAR


def training_view(crop: Crop, size: int, augment: Augment) -> View:
    """augment: none sees what evaluation sees, flip mirrors it by chance, crop_flip also crops by chance."""
    return partial(popnorm if crop == "popnorm" else resized, size=size, augment=augment)


def evaluation_view(crop: Crop, size: int) -> View:
    return training_view(crop, size, "none")


def popnorm(image: Image.Image, index: int, draw: int, *, size: int, augment: Augment) -> Image.Image:
    """Brought to a square without keeping its proportions (256x256), of which a smaller square is taken (224x224)."""
    side = round(size * MARGIN)
    image = image.resize((side, side), BILINEAR)
    by_chance = augment == "crop_flip"
    box = random_window(image.size, size, size, index, draw) if by_chance else centred(image.size, size, size)
    return mirrored(image.crop(box), index, draw, augment)


def resized(image: Image.Image, index: int, draw: int, *, size: int, augment: Augment) -> Image.Image:
    """A share of 0.08 to 1 of the area brought to size; in evaluation the shorter side to 256 and the middle taken."""
    if augment == "crop_flip":
        image = image.crop(random_share(image.size, index, draw, AREA, RATIO)).resize((size, size), BILINEAR)
    else:
        shorter, side = min(image.size), round(size * MARGIN)
        width, height = (side * length // shorter for length in image.size)
        image = image.resize((width, height), BILINEAR)
        image = image.crop(centred(image.size, size, size))
    return mirrored(image, index, draw, augment)


def mirrored(image: Image.Image, index: int, draw: int, augment: Augment) -> Image.Image:
    return ImageOps.mirror(image) if augment != "none" and flipped(index, draw) else image
