"""Noise: Gaussian, shot (photon counts), impulse (dead and saturated pixels), speckle (in proportion to value)."""

from __future__ import annotations

import numpy as np

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels
from normbench_cli.registry import CORRUPTIONS


@CORRUPTIONS.register("gaussian_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class GaussianNoise(GeneratedCorruption):
    """Gaussian noise on every value, as in low light: x + sigma n."""

    cifar = (0.04, 0.06, 0.08, 0.09, 0.10)
    imagenet = (0.08, 0.12, 0.18, 0.26, 0.38)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        return image / 255 + level * rng.standard_normal(image.shape)


@CORRUPTIONS.register("shot_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class ShotNoise(GeneratedCorruption):
    """Every value is a count of few photons: Poisson(k x) / k."""

    cifar = (500, 250, 100, 75, 50)
    imagenet = (60, 25, 12, 5, 3)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        return rng.poisson(image / 255 * level) / level


@CORRUPTIONS.register("impulse_noise", paper="Hendrycks & Dietterich 2019", family="noise")
class ImpulseNoise(GeneratedCorruption):
    """Salt and pepper: a fraction of all values becomes 0 or 1 with equal probability, in each channel separately."""

    cifar = (0.01, 0.02, 0.03, 0.05, 0.07)
    imagenet = (0.03, 0.06, 0.09, 0.17, 0.27)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Image:
        hit, salt = rng.random(image.shape) < level, rng.random(image.shape) < 0.5
        return np.where(hit, np.where(salt, 255, 0), image).astype(np.uint8)


@CORRUPTIONS.register("speckle_noise", paper="Hendrycks & Dietterich 2019", family="noise", extra=True)
class SpeckleNoise(GeneratedCorruption):
    """Gaussian noise in proportion to the value: x + x sigma n."""

    cifar = (0.06, 0.1, 0.12, 0.16, 0.2)
    imagenet = (0.15, 0.2, 0.35, 0.45, 0.6)

    def corrupt_image(self, image: Image, level: float, rng: np.random.Generator) -> Pixels:
        return image / 255 * (1 + level * rng.standard_normal(image.shape))
