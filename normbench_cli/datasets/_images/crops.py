"""Crop boxes and flips: in training random, but determined by image and draw; in evaluation central.

Pure arithmetic: a size is (width, height), a box is (left, top, right, bottom).  `index` is the image's position in its
split, `draw` the number of its random draw (different for each epoch and seed).
"""

from __future__ import annotations

import math
import random
from typing import Annotated, Literal

from normbench_cli.registry.bounds import Bounds

ImageSize = Annotated[int, Bounds(least=8, most=1024)]  # width and height that the networks are meant for
Augment = Literal["none", "flip", "crop_flip"]
Size = tuple[int, int]
Box = tuple[int, int, int, int]
Range = tuple[float, float]

MAX_ATTEMPTS = 10


def rng_for(index: int, draw: int, purpose: str) -> random.Random:
    """A generator seeded by image, draw and purpose only."""
    return random.Random(f"{purpose} {index} {draw}")


def random_resized_crop_box(size: Size, index: int, draw: int, area: Range, ratio: Range) -> Box:
    """A box with a random fraction of the image's area and a random ratio of width to height.

    If none of ten boxes fits into the image, the largest central one with a permitted ratio is used.
    """
    width, height = size
    rng = rng_for(index, draw, "crop")
    for _ in range(MAX_ATTEMPTS):
        pixels = width * height * rng.uniform(*area)
        shape = math.exp(rng.uniform(*map(math.log, ratio)))
        w, h = round(math.sqrt(pixels * shape)), round(math.sqrt(pixels / shape))
        if 0 < w <= width and 0 < h <= height:
            return box_at(rng.randint(0, width - w), rng.randint(0, height - h), w, h)
    if width / height < ratio[0]:
        return center_box(size, width, max(1, round(width / ratio[0])))
    return center_box(size, max(1, min(width, round(height * ratio[1]))), height)


def random_crop_box(size: Size, width: int, height: int, index: int, draw: int) -> Box:
    """A box of the given width and height at a random position."""
    rng = rng_for(index, draw, "crop")
    return box_at(rng.randint(0, size[0] - width), rng.randint(0, size[1] - height), width, height)


def random_flip(index: int, draw: int) -> bool:
    """Whether to mirror the image: true for half of all draws."""
    return rng_for(index, draw, "flip").random() < 0.5


def center_crop_box(size: Size) -> Box:
    """The central square, as wide as the shorter side."""
    side = min(size)
    return center_box(size, side, side)


def center_box(size: Size, width: int, height: int) -> Box:
    return box_at((size[0] - width) // 2, (size[1] - height) // 2, width, height)


def box_at(left: int, top: int, width: int, height: int) -> Box:
    return left, top, left + width, top + height
