"""Weather and light: snow, fog, brightness."""

from __future__ import annotations

from typing import Any

import numpy as np

from normbench_cli.corruptions.base import Array, Generated, grey
from normbench_cli.corruptions.optics import dragged, enlarged
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("snow", paper="Hendrycks & Dietterich 2019", family="weather")
class Snow(Generated):
    """Flakes that fall in two directions, over an image that is paler.

    Flakes are normal noise, enlarged, above a threshold, drawn out by motion; of the image, a share is replaced by
    max(x, 1.5 brightness + 0.5).  A level is mean and sd of the noise, its enlargement, the threshold, radius and sigma
    of the motion, and the share of the image that stays.
    """

    cifar = (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )
    imagenet = (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    )
    channels = (1, 3)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        mean, sd, factor, threshold, radius, sigma, stays = level
        noise = enlarged(mean + sd * draw.standard_normal((*image.shape[:2], 1)), factor)
        noise = np.where(noise < threshold, 0, noise.clip(0, 1) * 255).astype(np.uint8)
        flakes = dragged(noise, radius, sigma, draw.uniform(-135, -45)) / 255
        pixels = image / 255
        pale = np.maximum(pixels, 1.5 * grey(pixels) + 0.5)
        return stays * pixels + (1 - stays) * pale + flakes + np.rot90(flakes, 2)


@CORRUPTIONS.register("fog", paper="Hendrycks & Dietterich 2019", family="weather")
class Fog(Generated):
    """A cloud added to the image, both scaled back to the image's brightest value: (x + c cloud) max / (max + c).

    A level is c and how fast the cloud's detail loses height.
    """

    cifar = ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))
    imagenet = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        amount, decay = level
        pixels = image / 255
        height, width, _ = image.shape
        side = 1 << (max(height, width) - 1).bit_length()
        veil = cloud(side, decay, draw)[:height, :width, None]
        brightest = pixels.max()
        return (pixels + amount * veil) * brightest / (brightest + amount)


def cloud(side: int, decay: float, draw: np.random.Generator) -> Array:
    """A random landscape of heights 0-1 by the diamond-square method, without edges; `side` is a power of two.

    Points half way between known ones get their mean and a uniform deviation, whose size falls by decay^2 each time.
    """
    heights = np.zeros((side, side))
    step, size = side, 1.0
    while step > 1:
        half = step // 2
        corners = heights[::step, ::step]

        def deviation(shape: tuple[int, ...] = corners.shape, size: float = size) -> Array:
            return draw.uniform(-size, size, shape)

        beside = corners + np.roll(corners, -1, 1)
        below = corners + np.roll(corners, -1, 0)
        middles = (beside + np.roll(beside, -1, 0)) / 4 + deviation()
        heights[half::step, half::step] = middles
        heights[::step, half::step] = (beside + middles + np.roll(middles, 1, 0)) / 4 + deviation()
        heights[half::step, ::step] = (below + middles + np.roll(middles, 1, 1)) / 4 + deviation()
        step, size = half, size / decay**2
    heights -= heights.min()
    return heights / heights.max()


@CORRUPTIONS.register("brightness", paper="Hendrycks & Dietterich 2019", family="weather")
class Brightness(Generated):
    """Every pixel's largest value raised by c, up to 1, its hue and saturation kept: x (max + c) / max."""

    cifar = (0.05, 0.1, 0.15, 0.2, 0.3)
    imagenet = (0.1, 0.2, 0.3, 0.4, 0.5)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        pixels = image / 255
        value = pixels.max(2, keepdims=True)
        raised = np.minimum(value + level, 1)
        return np.where(value > 0, pixels * raised / np.where(value > 0, value, 1), raised)
