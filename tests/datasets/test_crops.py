"""Crop boxes: inside the image, of the requested area and ratio, reproducible; in evaluation central."""

from __future__ import annotations

from normbench_cli.datasets._images.crops import (
    center_crop_box,
    random_crop_box,
    random_flip,
    random_resized_crop_box,
)
from normbench_cli.datasets.celeba import AREA, RATIO


def test_celebas_training_crops_follow_the_protocol() -> None:
    boxes = [random_resized_crop_box((178, 218), index, 1, AREA, RATIO) for index in range(2000)]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 178
        assert 0 <= top < bottom <= 218
        ratio, share = (right - left) / (bottom - top), (right - left) * (bottom - top) / (178 * 218)
        assert 0.99 <= ratio <= 4 / 3 + 0.01
        assert 0.69 <= share <= 1.0
    # no ratio from 1 to 4/3 leaves 0.7 of these areas
    assert random_resized_crop_box((10, 100), 0, 0, AREA, RATIO) == (0, 45, 10, 55)
    assert random_resized_crop_box((100, 10), 0, 0, AREA, RATIO) == (43, 0, 56, 10)
    assert 900 < sum(random_flip(index, 1) for index in range(2000)) < 1100


def test_larger_images_are_cropped_in_proportion() -> None:
    assert center_crop_box((178, 218)) == (0, 20, 178, 198)
    assert center_crop_box((356, 436)) == (0, 40, 356, 396)
    assert center_crop_box((1024, 1024)) == (0, 0, 1024, 1024)


def test_a_random_crop_has_the_given_size_and_lies_inside() -> None:
    boxes = [random_crop_box((20, 30), 16, 24, index, 0) for index in range(200)]
    assert {(right - left, bottom - top) for left, top, right, bottom in boxes} == {(16, 24)}
    assert {left for left, *_ in boxes} == set(range(5))
    assert {top for _, top, *_ in boxes} == set(range(7))
    assert boxes == [random_crop_box((20, 30), 16, 24, index, 0) for index in range(200)]
