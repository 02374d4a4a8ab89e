"""Blur: Gaussian, out of focus, through frosted glass, by motion, by zooming."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels
from normbench_cli.corruptions.optics import clipped_zoom, disk, gaussian_blur, motion_blur, shuffle_sources
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("gaussian_blur", paper="Hendrycks & Dietterich 2019", family="blur", extra=True)
class GaussianBlur(GeneratedCorruption):
    """Every pixel is a mean of its neighbors with Gaussian weights of standard deviation sigma."""

    cifar = (0.4, 0.6, 0.7, 0.8, 1)
    imagenet = (1, 2, 3, 4, 6)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        return gaussian_blur(image / 255, level)


@CORRUPTIONS.register("defocus_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class DefocusBlur(GeneratedCorruption):
    """The image of a lens out of focus: every point becomes a disk.

    A level is the disk's radius, and the sigma with which its rim is softened.
    """

    cifar = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    imagenet = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))

    def corrupt_image(self, image: Image, level: tuple[float, float], rng: np.random.Generator) -> Pixels:
        blurred: Pixels = ndimage.correlate(image / 255, disk(*level)[..., None], mode="mirror")
        return blurred


@CORRUPTIONS.register("glass_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class GlassBlur(GeneratedCorruption):
    """Seen through frosted glass: blurred, every pixel replaced by a random near one, blurred again.

    The paper says that two pixels are swapped.  Its code assigns between views of the same memory, so the pixel takes
    its neighbor's value and the neighbor keeps it.  The published files were made this way, and this does the same.

    A level is the blur's sigma, the maximum distance in pixels, and how many times pixels are replaced.
    """

    cifar = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))
    imagenet = ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))

    def corrupt_image(self, image: Image, level: tuple[float, int, int], rng: np.random.Generator) -> Pixels:
        sigma, reach, times = level
        height, width, channels = image.shape
        flat = (gaussian_blur(image / 255, sigma) * 255).astype(np.uint8).reshape(-1, channels)
        for _ in range(times):
            steps = rng.integers(-reach, reach, (2, height, width))
            flat = flat[shuffle_sources(steps, reach)]
        return gaussian_blur(flat.reshape(image.shape) / 255, sigma)


@CORRUPTIONS.register("motion_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class MotionBlur(GeneratedCorruption):
    """The camera moves during the exposure: a one-sided Gaussian blur along a line at -45 to 45 degrees.

    A level is the blur's radius and sigma.
    """

    cifar = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))
    imagenet = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))

    def corrupt_image(self, image: Image, level: tuple[int, float], rng: np.random.Generator) -> Image:
        radius, sigma = level
        return motion_blur(image, radius, sigma, rng.uniform(-45, 45))


@CORRUPTIONS.register("zoom_blur", paper="Hendrycks & Dietterich 2019", family="blur")
class ZoomBlur(GeneratedCorruption):
    """The camera moves towards the scene: the mean of the image and of its enlarged center.

    A level is the largest zoom factor, and the step between factors.
    """

    cifar = ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01))
    imagenet = ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))

    def corrupt_image(self, image: Image, level: tuple[float, float], rng: np.random.Generator) -> Pixels:
        end, step = level
        pixels = image / 255
        factors = np.arange(1, end, step)
        mean: Pixels = (pixels + sum(clipped_zoom(pixels, factor) for factor in factors)) / (len(factors) + 1)
        return mean
