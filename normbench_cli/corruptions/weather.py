"""Weather and light: snow, fog, brightness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels, luma
from normbench_cli.corruptions.optics import clipped_zoom, motion_blur
from normbench_cli.registry import CORRUPTIONS

SnowLevel = tuple[float, float, float, float, int, float, float]


@CORRUPTIONS.register("snow", paper="Hendrycks & Dietterich 2019", family="weather")
class Snow(GeneratedCorruption):
    """Flakes that fall in two directions, over a paler image.

    Flakes are Gaussian noise, enlarged, above a threshold, with motion blur.  The image is blended with
    max(x, 1.5 luma + 0.5).  A level is mean, sd and zoom factor of the noise, the threshold, radius and sigma of the
    motion blur, and the weight of the original image.
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

    def corrupt_image(self, image: Image, level: SnowLevel, rng: np.random.Generator) -> Pixels:
        mean, sd, factor, threshold, radius, sigma, stays = level
        noise = clipped_zoom(mean + sd * rng.standard_normal((*image.shape[:2], 1)), factor)
        flakes = np.where(noise < threshold, 0, noise.clip(0, 1) * 255).astype(np.uint8)
        falling = motion_blur(flakes, radius, sigma, rng.uniform(-135, -45)) / 255
        pixels = image / 255
        pale = np.maximum(pixels, 1.5 * luma(pixels) + 0.5)
        snowy: Pixels = stays * pixels + (1 - stays) * pale + falling + np.rot90(falling, 2)
        return snowy


@CORRUPTIONS.register("fog", paper="Hendrycks & Dietterich 2019", family="weather")
class Fog(GeneratedCorruption):
    """A plasma fractal added to the image, scaled to keep the image's largest value: (x + c fog) max / (max + c).

    A level is c, and how fast the amplitude of the fractal's detail decays.
    """

    cifar = ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))
    imagenet = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))

    def corrupt_image(self, image: Image, level: tuple[float, float], rng: np.random.Generator) -> Pixels:
        amount, decay = level
        pixels = image / 255
        height, width, _ = image.shape
        side = 1 << (max(height, width) - 1).bit_length()
        fog = plasma_fractal(side, decay, rng)[:height, :width, None]
        brightest = pixels.max()
        foggy: Pixels = (pixels + amount * fog) * brightest / (brightest + amount)
        return foggy


def plasma_fractal(side: int, decay: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random heights (side, side) in 0-1 by the diamond-square method, periodic at the borders.

    Points halfway between known ones get their mean plus a uniform deviation, whose size shrinks by decay^2 each time.

    side: a power of two.
    """
    heights = np.zeros((side, side))
    step, size = side, 1.0
    while step > 1:
        half = step // 2
        corners = heights[::step, ::step]

        def deviation(shape: tuple[int, ...] = corners.shape, size: float = size) -> NDArray[np.float64]:
            return rng.uniform(-size, size, shape)

        beside = corners + np.roll(corners, -1, 1)
        below = corners + np.roll(corners, -1, 0)
        middles = (beside + np.roll(beside, -1, 0)) / 4 + deviation()
        heights[half::step, half::step] = middles
        heights[::step, half::step] = (beside + middles + np.roll(middles, 1, 0)) / 4 + deviation()
        heights[half::step, ::step] = (below + middles + np.roll(middles, 1, 1)) / 4 + deviation()
        step, size = half, size / decay**2
    heights -= heights.min()
    scaled: NDArray[np.float64] = heights / heights.max()
    return scaled


@CORRUPTIONS.register("brightness", paper="Hendrycks & Dietterich 2019", family="weather")
class Brightness(GeneratedCorruption):
    """Every pixel's largest value is raised by c, up to 1, with hue and saturation unchanged: x (max + c) / max."""

    cifar = (0.05, 0.1, 0.15, 0.2, 0.3)
    imagenet = (0.1, 0.2, 0.3, 0.4, 0.5)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        pixels = image / 255
        value = pixels.max(2, keepdims=True)
        raised = np.minimum(value + level, 1)
        bright: Pixels = np.where(value > 0, pixels * raised / np.where(value > 0, value, 1), raised)
        return bright
