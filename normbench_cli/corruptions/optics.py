"""Image processing shared by several corruptions.  Images are (H, W, C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from normbench_cli.corruptions.base import Image, Pixels


def gaussian_blur(image: Pixels, sigma: float) -> Pixels:
    """Blur in height and width, truncated after four standard deviations; the border is extended by replication."""
    blurred: Pixels = ndimage.gaussian_filter(image, (sigma, sigma, 0), mode="nearest", truncate=4.0)
    return blurred


def disk(radius: float, sigma: float) -> NDArray[np.float64]:
    """The weights of a disk, whose rim is blurred over three pixels, or over five if the disk is large."""
    half, reach = (8, 1) if radius <= 8 else (int(radius), 2)
    place = np.arange(-half, half + 1)
    inside = (place[:, None] ** 2 + place**2 <= radius**2).astype(float)
    inside /= inside.sum()
    soft = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    for axis in (0, 1):
        inside = ndimage.correlate1d(inside, soft / soft.sum(), axis, mode="mirror")
    return inside


def shuffle_sources(steps: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """The flat index of the pixel from which each pixel gets its value when they are replaced one after another.

    steps: (2, H, W), the offset, down and right, from each pixel to the one that replaces it.  The last pixel is
    replaced first.  As in the published code, the first reach + 1 and the last reach - 1 rows and columns are not
    replaced.

    A pixel whose target comes later finds it already replaced, so its source is followed further.  With the pixels
    0 1 2 3 and the steps 0 +1 +1 -2, pixel 3 takes the value of 1; then 2 takes that of 3, which is 1; then 1 takes
    that of 2, which is its own.  The sources are 0 1 1 1.  Computed: from 0 2 3 1, pixels 1 and 2 point forward and
    take the source of their target, which gives 0 3 1 1, and 1 does so again.
    """
    _, height, width = steps.shape
    own = np.arange(height * width)
    offset = np.zeros((height, width), dtype=np.int64)
    inner = slice(reach + 1, height - reach + 1), slice(reach + 1, width - reach + 1)
    offset[inner] = (steps[0] * width + steps[1])[inner]
    source: NDArray[np.int64] = own + offset.ravel()
    unfinished = source > own
    while (here := np.flatnonzero(unfinished)).size:
        there = source[here]
        source[here], unfinished[here] = source[there], unfinished[there]
    return source


def motion_blur(image: Image, radius: int, sigma: float, degrees: float) -> Image:
    """ImageMagick's motion blur: a mean over 2 radius + 1 pixels in one direction, with weights exp(-i^2 / 2 sigma^2)
    for the pixel i steps away, rounded like ImageMagick."""
    taps = np.arange(2 * radius + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angle = np.deg2rad(degrees)
    down, right = (np.ceil(taps * part - 0.5).astype(int) for part in (np.sin(angle), np.cos(angle)))
    rows, columns = np.arange(image.shape[0]), np.arange(image.shape[1])
    blurred = np.zeros(image.shape)
    for weight, dy, dx in zip(weights, down, right, strict=True):
        moved = image[(rows + dy).clip(0, rows[-1])][:, (columns + dx).clip(0, columns[-1])]
        blurred += weight * moved
    return np.rint(blurred).astype(np.uint8)


def clipped_zoom(image: Pixels, factor: float) -> Pixels:
    """Enlarge the center of the image to the size of the image."""
    height, width, _ = image.shape
    rows, columns = int(np.ceil(height / factor)), int(np.ceil(width / factor))
    top, left = (height - rows) // 2, (width - columns) // 2
    whole: Pixels = ndimage.zoom(image[top : top + rows, left : left + columns], (factor, factor, 1), order=1)
    top, left = (whole.shape[0] - height) // 2, (whole.shape[1] - width) // 2
    return whole[top : top + height, left : left + width]
