"""Blur: out of focus, through frosted glass, by motion, by zooming, and by a normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from normbench_cli.corruptions.base import Array, Generated
from normbench_cli.corruptions.optics import disk, dragged, enlarged, origins, smoothed
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("gaussian_blur", paper="Hendrycks & Dietterich 2019", family="blur", extra=True)
class GaussianBlur(Generated):
    """Every pixel a mean of its neighbours with normal weights of standard deviation sigma."""

    cifar = (0.4, 0.6, 0.7, 0.8, 1)
    imagenet = (1, 2, 3, 4, 6)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        return smoothed(image / 255, level)


@CORRUPTIONS.register("defocus_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class DefocusBlur(Generated):
    """The picture of a lens out of focus: every point becomes a disk of some radius, its rim softened by sigma."""

    cifar = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    imagenet = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        return ndimage.correlate(image / 255, disk(*level)[..., None], mode="mirror")


@CORRUPTIONS.register("glass_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class GlassBlur(Generated):
    """Seen through frosted glass: blurred by sigma, every pixel replaced by one up to some pixels away, blurred again.

    The description says that two pixels change places.  The published code assigns between views of the same memory, so
    that the pixel takes its neighbour's value and the neighbour keeps it; the published files are so, and so is this.
    """

    cifar = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
    imagenet = ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        sigma, reach, times = level
        height, width, channels = image.shape
        flat = (smoothed(image / 255, sigma) * 255).astype(np.uint8).reshape(-1, channels)
        for _ in range(times):
            steps = draw.integers(-reach, reach, (2, height, width))
            flat = flat[origins(steps, reach)]
        return smoothed(flat.reshape(image.shape) / 255, sigma)


@CORRUPTIONS.register("motion_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class MotionBlur(Generated):
    """The camera moves while it looks, in a direction of -45 to 45 degrees: a one-sided normal blur along a line."""

    cifar = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
    imagenet = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        radius, sigma = level
        return dragged(image, radius, sigma, draw.uniform(-45, 45))


@CORRUPTIONS.register("zoom_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class ZoomBlur(Generated):
    """The camera moves towards the scene: the mean of the image and of its middle, enlarged in small steps."""

    cifar = ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01))
    imagenet = ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        end, step = level
        pixels = image / 255
        factors = np.arange(1, end, step)
        return (pixels + sum(enlarged(pixels, factor) for factor in factors)) / (len(factors) + 1)
