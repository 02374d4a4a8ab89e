"""Spatter: drops of water or splashes of mud on the lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from normbench_cli.corruptions.base import GeneratedCorruption, Image, Pixels, color_for
from normbench_cli.registry import CORRUPTIONS

WATER, MUD = (175, 238, 238), (63, 42, 20)  # red, green, blue
LOW_THRESHOLD, HIGH_THRESHOLD = 50, 150  # of Canny's edges: slopes at which an edge continues and at which it starts
MAX_DISTANCE = 20  # pixels from an edge, beyond which distance has no effect
EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])  # light from one corner
SpatterLevel = tuple[float, float, float, float, float, bool]


@CORRUPTIONS.register("spatter", paper="Hendrycks & Dietterich 2019", family="weather", extra=True)
class Spatter(GeneratedCorruption):
    """The lens is wet where blurred Gaussian noise exceeds a threshold; water shines at its edges, mud covers.

    A level is the noise's mean, sd and blur, the threshold, the brightness of water or the blur of the mud's rim, and
    whether it is mud.
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

    def corrupt_image(self, image: Image, level: SpatterLevel, rng: np.random.Generator) -> Pixels:
        mean, sd, blur, threshold, strength, mud = level
        liquid = mean + sd * rng.standard_normal(image.shape[:2])
        liquid = ndimage.gaussian_filter(liquid, blur, mode="nearest", truncate=4.0)
        liquid[liquid < threshold] = 0
        pixels = image / 255
        if mud:
            cover = ndimage.gaussian_filter((liquid > threshold).astype(float), strength, mode="nearest", truncate=4.0)
            cover = np.where(cover < 0.8, 0, cover)[..., None]
            muddy: Pixels = pixels * (1 - cover) + cover * color_for(MUD, image.shape[2])
            return muddy
        shine = water_highlights((liquid.clip(0, 1) * 255).astype(np.uint8))[..., None]
        wet: Pixels = pixels + strength * shine * color_for(WATER, image.shape[2])
        return wet


def water_highlights(depth: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The brightness of water of this depth (H, W), 0-1: depth times an embossed map of the distance to its edges."""
    edges = canny_edges(depth)
    distance = ndimage.distance_transform_edt(~edges) if edges.any() else np.full(depth.shape, MAX_DISTANCE)
    distance = np.minimum(distance, MAX_DISTANCE)
    relief = equalize_histogram(ndimage.uniform_filter(distance, 3, mode="mirror").astype(np.uint8))
    embossed = ndimage.correlate(relief.astype(float), EMBOSS, mode="mirror").clip(0, 255)
    light: NDArray[np.float64] = depth * np.rint(ndimage.uniform_filter(embossed, 3, mode="mirror"))
    return light / light.max() if light.any() else light


def canny_edges(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Canny's edges (H, W): connected crests of the slope above the low threshold that exceed the high one somewhere.

    The slope of a pixel is the sum of its absolute Sobel derivatives.  A crest exceeds both neighbors in the slope's
    direction, which is rounded to horizontal (level), vertical (steep) or diagonal.  If all rows are 0 0 100 100, the
    slopes are 0 400 400 0 and the direction is level; `>` to the left and `>=` to the right keep one of the two equal
    crests, so the edge is 0 1 0 0.
    """
    values = picture.astype(int)
    down, right = (ndimage.sobel(values, axis, mode="nearest") for axis in (0, 1))
    slope = np.pad(abs(down) + abs(right), 1)
    height, width = picture.shape

    def neighbor(dy: int, dx: int) -> NDArray[np.int64]:
        """For each pixel, the slope of the one dy below and dx to the right."""
        return slope[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    here, tangent = neighbor(0, 0), np.tan(np.pi / 8)
    level, steep = abs(down) < tangent * abs(right), abs(right) < tangent * abs(down)
    falling = (down < 0) == (right < 0)  # from the upper left to the lower right
    diagonal = np.where(
        falling, np.maximum(neighbor(-1, -1), neighbor(1, 1)), np.maximum(neighbor(-1, 1), neighbor(1, -1))
    )
    crest = np.select(
        [level, steep],
        [
            (here > neighbor(0, -1)) & (here >= neighbor(0, 1)),
            (here > neighbor(-1, 0)) & (here >= neighbor(1, 0)),
        ],
        here > diagonal,
    )
    pieces, _ = ndimage.label(crest & (here > LOW_THRESHOLD), np.ones((3, 3)))
    begun = np.unique(pieces[crest & (here > HIGH_THRESHOLD)])
    return np.isin(pieces, begun[begun > 0])


def equalize_histogram(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Map gray values so that equal ranges are equally frequent; the smallest value becomes 0.

    The values 5 5 7 9 become 0 0 128 255: of the two pixels above the smallest, one half and all have at most 7 and 9.
    """
    counts = np.bincount(picture.ravel(), minlength=256)
    first = np.flatnonzero(counts)[0]
    rest = picture.size - counts[first]
    if rest == 0:
        return picture
    counts[: first + 1] = 0
    table: NDArray[np.uint8] = np.rint(counts.cumsum() * (255 / rest)).astype(np.uint8)
    return table[picture]
