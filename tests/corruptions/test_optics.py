"""The image processing that corruptions are made of: each function by its definition, and the docstrings' examples."""

from __future__ import annotations

import numpy as np
import pytest

from normbench_cli.corruptions.optics import clipped_zoom, disk, motion_blur, shuffle_sources
from normbench_cli.corruptions.spatter import canny_edges, equalize_histogram
from normbench_cli.corruptions.weather import plasma_fractal


@pytest.mark.parametrize("reach", [1, 2, 4])
def test_glass_blur_replaces_pixels_as_the_published_loop_does(reach: int) -> None:
    """The loop assigns between views of one array: it looks like an exchange, and copies."""
    draw = np.random.default_rng(0)
    image = draw.integers(0, 256, (20, 16, 3)).astype(np.uint8)
    steps = draw.integers(-reach, reach, (2, 20, 16))
    found = image.reshape(-1, 3)[shuffle_sources(steps, reach)].reshape(image.shape)
    for h in range(20 - reach, reach, -1):
        for w in range(16 - reach, reach, -1):
            down, right = steps[:, h, w]
            image[h, w], image[h + down, w + right] = image[h + down, w + right], image[h, w]
    assert np.array_equal(found, image)


def test_the_example_of_replaced_pixels_holds() -> None:
    """As the docstring of `shuffle_sources` computes it, in the middle of an image whose border stays."""
    steps = np.zeros((2, 4, 7), dtype=np.int64)
    steps[1, 2, 2:6] = 0, 1, 1, -2
    assert shuffle_sources(steps, 1)[2 * 7 + 2 : 2 * 7 + 6].tolist() == [16, 17, 17, 17]


def test_the_examples_of_edges_and_equalization_hold() -> None:
    step = np.tile(np.array([0, 0, 100, 100], np.uint8), (4, 1))
    assert canny_edges(step).astype(int).tolist() == [[0, 1, 0, 0]] * 4
    assert equalize_histogram(np.array([[5, 5, 7, 9]], np.uint8)).tolist() == [[0, 0, 128, 255]]


def test_a_disk_is_uniform_and_symmetric() -> None:
    weights = disk(3, 0.1)
    assert weights.sum() == pytest.approx(1)
    assert np.allclose(weights, weights.T)
    assert np.unique(weights.round(12)).tolist() == pytest.approx([0, 1 / 29])  # 29 points within 3 of the center
    assert disk(10, 0.5).shape == (21, 21)


def test_motion_blur_leaves_a_one_sided_trail() -> None:
    image = np.zeros((21, 21, 1), np.uint8)
    image[10, 10] = 255
    weights = np.exp(-(np.arange(13) ** 2) / 2 / 1.5**2)
    trail = np.rint(255 * weights / weights.sum())
    assert motion_blur(image, 6, 1.5, 0)[10, 10::-1, 0].tolist() == trail[:11].tolist()
    assert motion_blur(image, 6, 1.5, 90)[10::-1, 10, 0].tolist() == trail[:11].tolist()
    assert motion_blur(image, 6, 1.5, 0)[10, 11:].sum() == 0
    assert (
        motion_blur(np.full((32, 32, 1), 77, np.uint8), 6, 1.5, 30).tolist()
        == np.full((32, 32, 1), 77, np.uint8).tolist()
    )


def test_zoom_enlarges_the_center() -> None:
    image = np.zeros((32, 32, 1))
    image[8:24, 8:24] = 1
    assert np.allclose(clipped_zoom(image, 2.0), 1)
    assert np.array_equal(clipped_zoom(image, 1.0), image)


@pytest.mark.parametrize("decay", [1.4, 3])
def test_the_detail_of_a_plasma_fractal_falls_with_the_square_of_the_decay(decay: float) -> None:
    heights = plasma_fractal(256, decay, np.random.default_rng(0))
    assert (heights.min(), heights.max()) == (0, 1)

    def deviation(step: int) -> float:
        """Of the centers of squares of this size from the mean of their corners."""
        corners = heights[::step, ::step]
        beside = corners + np.roll(corners, -1, 0)
        return float((heights[step // 2 :: step, step // 2 :: step] - (beside + np.roll(beside, -1, 1)) / 4).std())

    assert deviation(4) / deviation(2) == pytest.approx(decay**2, rel=0.03)
    assert deviation(8) / deviation(4) == pytest.approx(decay**2, rel=0.06)
