"""Where images are cropped: by chance in training, the same for the same image and draw, and centrally in evaluation.

Everything here is arithmetic with sizes; a size is (width, height).
"""

from __future__ import annotations

import math
import random

Size = tuple[int, int]
Box = tuple[int, int, int, int]  # left, top, right, bottom
Range = tuple[float, float]

TRIES = 10


def chance(index: int, draw: int, purpose: str) -> random.Random:
    """Luck that depends on the image, the draw and what it is for, and on nothing else."""
    return random.Random(f"{purpose} {index} {draw}")


def random_share(size: Size, index: int, draw: int, area: Range, ratio: Range) -> Box:
    """A share of the area at a ratio of width to height, both drawn; the widest central crop if ten draws don't fit."""
    width, height = size
    luck = chance(index, draw, "crop")
    for _ in range(TRIES):
        pixels = width * height * luck.uniform(*area)
        shape = math.exp(luck.uniform(*map(math.log, ratio)))
        w, h = round(math.sqrt(pixels * shape)), round(math.sqrt(pixels / shape))
        if 0 < w <= width and 0 < h <= height:
            return placed(w, h, luck.randint(0, width - w), luck.randint(0, height - h))
    if width / height < ratio[0]:
        return centred(size, width, max(1, round(width / ratio[0])))
    return centred(size, max(1, min(width, round(height * ratio[1]))), height)


def random_window(size: Size, width: int, height: int, index: int, draw: int) -> Box:
    """A window of the given width and height, anywhere within the image."""
    luck = chance(index, draw, "crop")
    return placed(width, height, luck.randint(0, size[0] - width), luck.randint(0, size[1] - height))


def flipped(index: int, draw: int) -> bool:
    return chance(index, draw, "flip").random() < 0.5


def central(size: Size) -> Box:
    """The central square, as wide as the shorter side."""
    side = min(size)
    return centred(size, side, side)


def centred(size: Size, width: int, height: int) -> Box:
    return placed(width, height, (size[0] - width) // 2, (size[1] - height) // 2)


def placed(width: int, height: int, left: int, top: int) -> Box:
    return left, top, left + width, top + height
