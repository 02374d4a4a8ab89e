"""Noise: normal, of counted photons, of dead and burnt pixels, and in proportion to the brightness."""

from __future__ import annotations

from typing import Any

import numpy as np

from normbench_cli.corruptions.base import Array, Generated
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("gaussian_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class GaussianNoise(Generated):
    """Normal noise on every value: x + sigma n, as in low light."""

    cifar = (0.04, 0.06, 0.08, 0.09, 0.10)
    imagenet = (0.08, 0.12, 0.18, 0.26, 0.38)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        return image / 255 + level * draw.standard_normal(image.shape)


@CORRUPTIONS.register("shot_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class ShotNoise(Generated):
    """Every value counted in few photons: Poisson(k x) / k."""

    cifar = (500, 250, 100, 75, 50)
    imagenet = (60, 25, 12, 5, 3)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        return draw.poisson(image / 255 * level) / level


@CORRUPTIONS.register("impulse_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class ImpulseNoise(Generated):
    """A share of all values becomes 0 or 1, one as likely as the other: salt and pepper, in each channel by itself."""

    cifar = (0.01, 0.02, 0.03, 0.05, 0.07)
    imagenet = (0.03, 0.06, 0.09, 0.17, 0.27)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        hit, salt = draw.random(image.shape) < level, draw.random(image.shape) < 0.5
        return np.where(hit, np.where(salt, 255, 0), image).astype(np.uint8)


@CORRUPTIONS.register("speckle_noise", paper="Hendrycks & Dietterich 2019", family="noise", extra=True)
class SpeckleNoise(Generated):
    """Normal noise in proportion to the value: x + x sigma n."""

    cifar = (0.06, 0.1, 0.12, 0.16, 0.2)
    imagenet = (0.15, 0.2, 0.35, 0.45, 0.6)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        return image / 255 * (1 + level * draw.standard_normal(image.shape))
