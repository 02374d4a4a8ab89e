"""Ways to mix and move pixels that several corruptions are made of.  Images are (H, W, C)."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from normbench_cli.corruptions.base import Array


def smoothed(image: Array, sigma: float) -> Array:
    """Normal blur in height and width, cut off after four standard deviations; the border goes on as it ends."""
    return ndimage.gaussian_filter(image, (sigma, sigma, 0), mode="nearest", truncate=4.0)


def disk(radius: float, sigma: float) -> Array:
    """The weights of a disk; the rim is softened over three pixels, over five if the disk is large."""
    half, reach = (8, 1) if radius <= 8 else (int(radius), 2)
    place = np.arange(-half, half + 1)
    inside = (place[:, None] ** 2 + place**2 <= radius**2).astype(float)
    inside /= inside.sum()
    soft = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    for axis in (0, 1):
        inside = ndimage.correlate1d(inside, soft / soft.sum(), axis, mode="mirror")
    return inside


def origins(steps: Array, reach: int) -> Array:
    """Where each pixel's value comes from, as flat places, when pixels take a neighbour's value one after another.

    steps: (2, H, W), each pixel's way to its neighbour, down and right.  The last pixel is first, and none within
    `reach` of the border moves.  So a neighbour further on has taken another's value by then, and is followed to it.
    """
    _, height, width = steps.shape
    own = np.arange(height * width)
    way = np.zeros((height, width), dtype=np.int64)
    inner = slice(reach + 1, height - reach + 1), slice(reach + 1, width - reach + 1)
    way[inner] = (steps[0] * width + steps[1])[inner]
    source = own + way.ravel()
    unfinished = source > own
    while (here := np.flatnonzero(unfinished)).size:
        there = source[here]
        source[here], unfinished[here] = source[there], unfinished[there]
    return source


def dragged(image: Array, radius: int, sigma: float, degrees: float) -> Array:
    """ImageMagick's motion blur: a mean over 2 radius + 1 pixels in one direction, with normal weights from the start.

    uint8 in and out, rounded as ImageMagick does.
    """
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


def enlarged(image: Array, factor: float) -> Array:
    """The middle of the image, enlarged to its size."""
    height, width, _ = image.shape
    rows, columns = int(np.ceil(height / factor)), int(np.ceil(width / factor))
    top, left = (height - rows) // 2, (width - columns) // 2
    whole = ndimage.zoom(image[top : top + rows, left : left + columns], (factor, factor, 1), order=1)
    top, left = (whole.shape[0] - height) // 2, (whole.shape[1] - width) // 2
    return whole[top : top + height, left : left + width]
