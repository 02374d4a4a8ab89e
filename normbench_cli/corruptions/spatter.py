"""Spatter: drops of water or splashes of mud on the lens."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from normbench_cli.corruptions.base import Array, Generated, coloured
from normbench_cli.registry import CORRUPTIONS

WATER, MUD = (175, 238, 238), (63, 42, 20)
WEAK, STRONG = 50, 150  # slopes at which an edge goes on and at which it begins
FAR = 20  # pixels from an edge after which distance counts no more
EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])  # light from one corner


@CORRUPTIONS.register("spatter", paper="Hendrycks & Dietterich 2019", family="weather", extra=True)
class Spatter(Generated):
    """Blurred normal noise above a threshold is where the lens is wet; water shines by its edges, mud covers.

    A level is mean and sd of the noise, its blur, the threshold, how bright the water is or how far the mud's rim
    reaches, and whether it is mud.
    """

    cifar = (
        (0.62, 0.1, 0.7, 0.7, 0.5, False),
        (0.65, 0.1, 0.8, 0.7, 0.5, False),
        (0.65, 0.3, 1, 0.69, 0.5, False),
        (0.65, 0.1, 0.7, 0.69, 0.6, True),
        (0.65, 0.1, 0.5, 0.68, 0.6, True),
    )
    imagenet = (
        (0.65, 0.3, 4, 0.69, 0.6, False),
        (0.65, 0.3, 3, 0.68, 0.6, False),
        (0.65, 0.3, 2, 0.68, 0.5, False),
        (0.65, 0.3, 1, 0.65, 1.5, True),
        (0.67, 0.4, 1, 0.65, 1.5, True),
    )
    channels = (1, 3)

    def change(self, image: Array, level: Any, draw: np.random.Generator) -> Array:
        mean, sd, blur, threshold, strength, mud = level
        liquid = mean + sd * draw.standard_normal(image.shape[:2])
        liquid = ndimage.gaussian_filter(liquid, blur, mode="nearest", truncate=4.0)
        liquid[liquid < threshold] = 0
        pixels = image / 255
        if mud:
            cover = ndimage.gaussian_filter((liquid > threshold).astype(float), strength, mode="nearest", truncate=4.0)
            cover = np.where(cover < 0.8, 0, cover)[..., None]
            return pixels * (1 - cover) + cover * coloured(MUD, image.shape[2])
        shine = glints((liquid.clip(0, 1) * 255).astype(np.uint8))[..., None]
        return pixels + strength * shine * coloured(WATER, image.shape[2])


def glints(liquid: Array) -> Array:
    """How bright water of this depth (uint8) is, 0-1: depth times an embossed map of the distance to its edges."""
    border = edges(liquid)
    distance = ndimage.distance_transform_edt(~border) if border.any() else np.full(liquid.shape, FAR)
    distance = np.minimum(distance, FAR)
    relief = equalized(ndimage.uniform_filter(distance, 3, mode="mirror").astype(np.uint8))
    relief = ndimage.correlate(relief.astype(float), EMBOSS, mode="mirror").clip(0, 255)
    light = liquid * np.rint(ndimage.uniform_filter(relief, 3, mode="mirror"))
    return light / light.max() if light.any() else light


def edges(picture: Array) -> Array:
    """Canny's edges: the crests of the slope that are steep somewhere, followed as long as they are not flat."""
    values = picture.astype(int)
    down, right = (ndimage.sobel(values, axis, mode="nearest") for axis in (0, 1))
    slope = np.pad(abs(down) + abs(right), 1)
    height, width = picture.shape

    def neighbour(dy: int, dx: int) -> Array:
        return slope[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    here, tangent = neighbour(0, 0), np.tan(np.pi / 8)
    level, steep = abs(down) < tangent * abs(right), abs(right) < tangent * abs(down)
    falling = (down < 0) == (right < 0)
    along = np.where(
        falling, np.maximum(neighbour(-1, -1), neighbour(1, 1)), np.maximum(neighbour(-1, 1), neighbour(1, -1))
    )
    crest = np.select(
        [level, steep],
        [(here > neighbour(0, -1)) & (here >= neighbour(0, 1)), (here > neighbour(-1, 0)) & (here >= neighbour(1, 0))],
        here > along,
    )
    pieces, _ = ndimage.label(crest & (here > WEAK), np.ones((3, 3)))
    begun = np.unique(pieces[crest & (here > STRONG)])
    return np.isin(pieces, begun[begun > 0])


def equalized(picture: Array) -> Array:
    """Grey values (uint8) spread so that each range of them is as frequent as another."""
    counts = np.bincount(picture.ravel(), minlength=256)
    first = np.flatnonzero(counts)[0]
    rest = picture.size - counts[first]
    if rest == 0:
        return picture
    counts[: first + 1] = 0
    return np.rint(counts.cumsum() * (255 / rest)).astype(np.uint8)[picture]
