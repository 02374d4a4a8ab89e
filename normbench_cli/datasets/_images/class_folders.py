"""Splits stored as folders with one subfolder per class, like ImageNet and many others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch

from normbench_cli.datasets._images.files import ImageFiles
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.datasets._images.transforms import Transform
from normbench_cli.errors import NormbenchError


class ClassFolder(Protocol):
    """The attributes of torchvision's ImageFolder that are used."""

    classes: list[str]  # sorted
    samples: list[tuple[str, int]]  # path and class of each file
    targets: list[int]
    extensions: tuple[str, ...]  # of the files that count as images


def read_splits(
    folders: Sequence[Path], transforms: Sequence[Transform], size: int
) -> tuple[list[str], list[ImageFiles]]:
    """Return the classes, which must be the same in all splits, and the splits."""
    found = [list_images(folder) for folder in folders]
    classes = found[0].classes
    for folder, listing in zip(folders, found, strict=True):
        if unmatched := sorted(set(listing.classes) ^ set(classes)):
            lacking, other = (folder, folders[0]) if unmatched[0] in classes else (folders[0], folder)
            raise NormbenchError(
                f"{lacking} lacks the class '{unmatched[0]}' that {other} has ({len(unmatched)} such)",
                "every split needs a folder for each class; remove folders that are not classes",
            )
    splits = []
    for folder, listing, transform in zip(folders, found, transforms, strict=True):
        names = [path[len(str(folder)) + 1 :] for path, _ in listing.samples]
        splits.append(ImageFiles(folder, names, torch.tensor(listing.targets), None, size, transform))
    return classes, splits


def list_images(folder: Path) -> ClassFolder:
    """List the files of a split, which must hold at least one image of each class."""
    try:
        if not any(entry.is_dir() for entry in folder.iterdir()):
            raise NormbenchError(f"{folder} has no folder for a class in it", "put the images of each class into one")
        listing: ClassFolder = import_torchvision().datasets.ImageFolder(str(folder), allow_empty=True)
    except OSError as error:
        raise NormbenchError(f"{folder} cannot be read: {error.strerror}", "check its permissions") from error
    filled = set(listing.targets)
    if empty := [name for number, name in enumerate(listing.classes) if number not in filled]:
        raise NormbenchError(
            f"the class '{empty[0]}' of {folder} has no image ({len(empty)} of {len(listing.classes)} classes)",
            f"put {', '.join(listing.extensions)} files there, or remove its folder",
        )
    return listing
