"""Where CelebA's images are cropped: by chance in training, the same for the same draw, and centrally in evaluation."""

from __future__ import annotations

import math
import random

Box = tuple[int, int, int, int]  # left, top, right, bottom

AREA, RATIO = (0.7, 1.0), (1.0, 1.3333333333333333)
TRIES = 10


def chance(index: int, draw: int, purpose: str) -> random.Random:
    return random.Random(f"{purpose} {index} {draw}")


def random_crop(size: tuple[int, int], index: int, draw: int) -> Box:
    """A share of the area at a ratio of width to height, both drawn; the widest central crop if ten draws don't fit."""
    width, height = size
    luck = chance(index, draw, "crop")
    for _ in range(TRIES):
        area = width * height * luck.uniform(*AREA)
        ratio = math.exp(luck.uniform(*map(math.log, RATIO)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = luck.randint(0, width - w), luck.randint(0, height - h)
            return left, top, left + w, top + h
    if width / height < RATIO[0]:
        return centred(size, width, round(width / RATIO[0]))
    return centred(size, min(width, round(height * RATIO[1])), height)


def flipped(index: int, draw: int) -> bool:
    return chance(index, draw, "flip").random() < 0.5


def central(size: tuple[int, int]) -> Box:
    """The central square, as wide as the shorter side: 178 pixels of CelebA's 178x218."""
    side = min(size)
    return centred(size, side, side)


def centred(size: tuple[int, int], width: int, height: int) -> Box:
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return left, top, left + width, top + height
