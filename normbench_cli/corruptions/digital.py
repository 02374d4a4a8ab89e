"""What happens in a camera, a screen or a file: contrast, saturation, distortion, coarse pixels, JPEG."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

from normbench_cli.corruptions.base import Array, Generated
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("contrast", paper="Hendrycks & Dietterich 2019", family="digital")
class Contrast(Generated):
    """Every channel drawn towards its mean over the image: mean + c (x - mean)."""

    cifar = (0.75, 0.5, 0.4, 0.3, 0.15)
    imagenet = (0.4, 0.3, 0.2, 0.1, 0.05)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        pixels = image / 255
        mean = pixels.mean((0, 1), keepdims=True)
        return (pixels - mean) * level + mean


@CORRUPTIONS.register("saturate", paper="Hendrycks & Dietterich 2019", family="digital", extra=True)
class Saturate(Generated):
    """Paler or stronger colours: saturation a s + b, hue and largest value kept.  Not for grey images.

    A level is a and b.  Severities 1 and 2 take colour away, 3 to 5 add it.
    """

    cifar = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))
    imagenet = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))
    channels = (3,)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        factor, offset = level
        pixels = image / 255
        value = pixels.max(2, keepdims=True)
        below = value - pixels  # how far a channel is under the largest; grey has no hue, and takes red for one
        width = below.max(2, keepdims=True)
        below = np.where(width > 0, below / np.where(width > 0, width, 1), (0.0, 1.0, 1.0))
        saturation = width / np.where(value > 0, value, 1)
        return value * (1 - below * np.clip(factor * saturation + offset, 0, 1))


@CORRUPTIONS.register("elastic_transform", paper="Hendrycks & Dietterich 2019", family="digital")
class ElasticTransform(Generated):
    """The image moved, sheared and scaled by chance, then distorted piece by piece.

    A level, in shares of the shorter side, is the size of the distortion, how far it reaches, and how far each of the
    three points that fix the first transformation is moved at most.  The published strengths do not grow with the
    severity in each of the three, nor does the change of the pixels.
    """

    cifar = ((0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03))
    imagenet = tuple(
        tuple(244 / 224 * share for share in shares)  # a slip in the published code: shares of 244 pixels, not of 224
        for shares in ((2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02))
    )

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        height, width, channels = image.shape
        size, reach, most = (min(height, width) * share for share in level)
        centre, arm = np.array([height // 2, width // 2]), min(height, width) // 3
        before = centre + arm * np.array([[1, 1], [1, -1], [-1, -1]])
        after = before + draw.uniform(-most, most, (3, 2))
        # three points and their images fix the map; pixels are fetched, so it is the way back
        back = np.linalg.solve(np.column_stack([after, np.ones(3)]), before)
        shifts = draw.uniform(-1, 1, (2, height, width))
        shifts = size * ndimage.gaussian_filter(shifts, (0, reach, reach), mode="reflect", truncate=3)
        places = np.indices((height, width)) + shifts
        changed = np.empty(image.shape)
        for channel in range(channels):
            plane = image[:, :, channel] / 255
            plane = ndimage.affine_transform(plane, back[:2].T, back[2], order=1, mode="mirror")
            changed[:, :, channel] = ndimage.map_coordinates(plane, places, order=1, mode="reflect")
        return changed


@CORRUPTIONS.register("pixelate", paper="Hendrycks & Dietterich 2019", family="digital")
class Pixelate(Generated):
    """Made smaller by a factor, each new pixel the mean of those it covers, and brought back to size."""

    cifar = (0.95, 0.9, 0.85, 0.75, 0.65)
    imagenet = (0.6, 0.5, 0.4, 0.3, 0.25)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        height, width, channels = image.shape
        small = max(int(width * level), 1), max(int(height * level), 1)
        planes = (Image.fromarray(np.ascontiguousarray(image[:, :, channel])) for channel in range(channels))
        box = Image.Resampling.BOX
        return np.stack([np.asarray(plane.resize(small, box).resize((width, height), box)) for plane in planes], 2)


@CORRUPTIONS.register("jpeg_compression", paper="Hendrycks & Dietterich 2019", family="digital")
class JpegCompression(Generated):
    """Written as JPEG of some quality and read again."""

    cifar = (80, 65, 58, 50, 40)
    imagenet = (25, 18, 15, 10, 7)
    channels = (1, 3)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        file = BytesIO()
        Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0]).save(file, "JPEG", quality=level)
        return np.asarray(Image.open(file)).reshape(image.shape)
