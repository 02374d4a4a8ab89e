"""Digital corruptions: contrast, saturation, elastic distortion, pixelation, JPEG."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image as PILImage
from scipy import ndimage

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("contrast", paper="Hendrycks & Dietterich 2019", family="digital")
class Contrast(GeneratedCorruption):
    """Every channel is moved towards its mean over the image: mean + c (x - mean)."""

    cifar = (0.75, 0.5, 0.4, 0.3, 0.15)
    imagenet = (0.4, 0.3, 0.2, 0.1, 0.05)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        pixels = image / 255
        mean = pixels.mean((0, 1), keepdims=True)
        contrasted: Pixels = (pixels - mean) * level + mean
        return contrasted


@CORRUPTIONS.register("saturate", paper="Hendrycks & Dietterich 2019", family="digital", extra=True)
class Saturate(GeneratedCorruption):
    """Paler or stronger colors: saturation a s + b, with hue and largest value unchanged.  Not for gray images.

    A level is a and b.  Severities 1 and 2 reduce the color, 3 to 5 increase it.
    """

    cifar = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))
    imagenet = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))
    channels = (3,)

    def corrupt_image(self, image: Image, level: tuple[float, float], rng: np.random.Generator) -> Pixels:
        factor, offset = level
        pixels = image / 255
        value = pixels.max(2, keepdims=True)
        below = value - pixels  # distance from the largest channel
        chroma = below.max(2, keepdims=True)
        # gray has no hue and counts as red
        below = np.where(chroma > 0, below / np.where(chroma > 0, chroma, 1), (0.0, 1.0, 1.0))
        saturation = chroma / np.where(value > 0, value, 1)
        saturated: Pixels = value * (1 - below * np.clip(factor * saturation + offset, 0, 1))
        return saturated


@CORRUPTIONS.register("elastic_transform", paper="Hendrycks & Dietterich 2019", family="digital")
class ElasticTransform(GeneratedCorruption):
    """The image moved, sheared and scaled at random, then distorted locally.

    A level, in fractions of the shorter side, is the size of the distortion, the sigma with which it is smoothed, and
    the maximum shift of each of the three points that define the affine map.  Not all of the published parameters grow
    with the severity, nor does the change of the pixels.
    """

    cifar = ((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03))
    imagenet = tuple(
        tuple(244 / 224 * part for part in parts)  # an error in the published code: fractions of 244 pixels, not of 224
        for parts in ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02))
    )

    def corrupt_image(self, image: Image, level: tuple[float, float, float], rng: np.random.Generator) -> Pixels:
        height, width, channels = image.shape
        size, sigma, largest = (min(height, width) * fraction for fraction in level)
        center, arm = np.array([height // 2, width // 2]), min(height, width) // 3
        before = center + arm * np.array([[1, 1], [1, -1], [-1, -1]])
        after = before + rng.uniform(-largest, largest, (3, 2))
        # three points and their images define the affine map; resampling needs its inverse
        inverse = np.linalg.solve(np.column_stack([after, np.ones(3)]), before)
        shifts = rng.uniform(-1, 1, (2, height, width))
        shifts = size * ndimage.gaussian_filter(shifts, (0, sigma, sigma), mode="reflect", truncate=3)
        places = np.indices((height, width)) + shifts
        distorted = np.empty(image.shape)
        for channel in range(channels):
            plane = image[:, :, channel] / 255
            plane = ndimage.affine_transform(plane, inverse[:2].T, inverse[2], order=1, mode="mirror")
            distorted[:, :, channel] = ndimage.map_coordinates(plane, places, order=1, mode="reflect")
        return distorted


@CORRUPTIONS.register("pixelate", paper="Hendrycks & Dietterich 2019", family="digital")
class Pixelate(GeneratedCorruption):
    """Reduced by a factor, each new pixel the mean of those it covers, and enlarged to the old size."""

    cifar = (0.95, 0.9, 0.85, 0.75, 0.65)
    imagenet = (0.6, 0.5, 0.4, 0.3, 0.25)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Image:
        height, width, channels = image.shape
        small = max(int(width * level), 1), max(int(height * level), 1)
        planes = (PILImage.fromarray(np.ascontiguousarray(image[:, :, channel])) for channel in range(channels))
        box = PILImage.Resampling.BOX
        return np.stack([np.asarray(plane.resize(small, box).resize((width, height), box)) for plane in planes], 2)


@CORRUPTIONS.register("jpeg_compression", paper="Hendrycks & Dietterich 2019", family="digital")
class JpegCompression(GeneratedCorruption):
    """Written as JPEG of some quality and read again."""

    cifar = (80, 65, 58, 50, 40)
    imagenet = (25, 18, 15, 10, 7)
    channels = (1, 3)

    def corrupt_image(self, image: Image, level: int, rng: np.random.Generator) -> Image:
        file = BytesIO()
        PILImage.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).save(file, "JPEG", quality=level)
        return np.asarray(PILImage.open(file)).reshape(image.shape)
