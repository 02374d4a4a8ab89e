"""Transforms from a decoded photograph to a network's input: POP-Norm's protocol for ImageNet, and the usual one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from PIL import Image, ImageOps

from normbench_cli.datasets._images.crops import (
    Augment,
    center_box,
    random_crop_box,
    random_flip,
    random_resized_crop_box,
)

Transform = Callable[[Image.Image, int, int], Image.Image]  # (image, its index, draw) -> image of the requested size
Crop = Literal["popnorm", "resized"]

RESIZE_RATIO = 256 / 224  # side of an image before cropping to after
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # of the usual random crop
BILINEAR = Image.Resampling.BILINEAR


def training_transform(crop: Crop, size: int, augment: Augment) -> Transform:
    """augment: none is the evaluation transform; flip adds random mirroring; crop_flip also crops at random."""
    return partial(popnorm_crop if crop == "popnorm" else resized_crop, size=size, augment=augment)


def evaluation_transform(crop: Crop, size: int) -> Transform:
    return training_transform(crop, size, "none")


def popnorm_crop(image: Image.Image, index: int, draw: int, *, size: int, augment: Augment) -> Image.Image:
    """Resize to a square (256x256) without keeping the proportions, then crop a smaller one (224x224) from it."""
    side = round(size * RESIZE_RATIO)
    image = image.resize((side, side), BILINEAR)
    if augment == "crop_flip":
        box = random_crop_box(image.size, size, size, index, draw)
    else:
        box = center_box(image.size, size, size)
    return random_hflip(image.crop(box), index, draw, augment)


def resized_crop(image: Image.Image, index: int, draw: int, *, size: int, augment: Augment) -> Image.Image:
    """Resize a random crop of 0.08 to 1 of the area; in evaluation resize the shorter side to 256, crop the center."""
    if augment == "crop_flip":
        box = random_resized_crop_box(image.size, index, draw, AREA, RATIO)
        image = image.crop(box).resize((size, size), BILINEAR)
    else:
        shorter, side = min(image.size), round(size * RESIZE_RATIO)
        width, height = (side * length // shorter for length in image.size)
        image = image.resize((width, height), BILINEAR)
        image = image.crop(center_box(image.size, size, size))
    return random_hflip(image, index, draw, augment)


def random_hflip(image: Image.Image, index: int, draw: int, augment: Augment) -> Image.Image:
    return ImageOps.mirror(image) if augment != "none" and random_flip(index, draw) else image
