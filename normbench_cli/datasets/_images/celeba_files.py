"""Reads CelebA's two text files; errors say in one line which file or line is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from normbench_cli.datasets._files.places import CELEBA
from normbench_cli.errors import NormbenchError

IMAGES, ATTRIBUTES, PARTITION = CELEBA


def ensure_files(folder: Path) -> None:
    missing = [name for name in (IMAGES, ATTRIBUTES, PARTITION) if not (folder / name).exists()]
    if missing:
        unpack = f"; unpack {IMAGES}.zip there" if (folder / f"{IMAGES}.zip").exists() and IMAGES in missing else ""
        raise NormbenchError(
            f"CelebA's {', '.join(missing)} not found in {folder}",
            f"put the files there or set NORMBENCH_DATA to the folder above them{unpack}",
        )


def read_partition(path: Path) -> dict[str, int]:
    """The part of each image, from lines `name part`: 0 is train, 1 validation, 2 test."""
    parts: dict[str, int] = {}
    for number, words in numbered_lines(path):
        if len(words) != 2 or words[1] not in ("0", "1", "2"):
            raise line_error(path, number, "is not a name and 0, 1 or 2")
        parts[words[0]] = int(words[1])
    return parts


def read_attributes(path: Path, wanted: list[str]) -> tuple[list[str], dict[str, Tensor]]:
    """The images' names, and the values of each wanted attribute, bool (images,).

    The file holds the number of images, the attributes' names, then lines `name value value ...`, each value 1 or -1.
    """
    lines = numbered_lines(path)
    _, count = next(lines, (1, []))
    _, header = next(lines, (2, []))
    if len(count) != 1 or not count[0].isdigit():
        raise line_error(path, 1, "is not the number of images")
    if absent := [name for name in wanted if name not in header]:
        raise line_error(path, 2, f"does not name {', '.join(absent)}")
    columns = [header.index(name) + 1 for name in wanted]
    names, rows = [], []
    for number, words in lines:
        if len(words) != len(header) + 1:
            raise line_error(path, number, f"has {len(words) - 1} values for {len(header)} attributes")
        row = [words[column] for column in columns]
        if not {"1", "-1"}.issuperset(row):
            raise line_error(path, number, "has a value that is neither 1 nor -1")
        names.append(words[0])
        rows.append([value == "1" for value in row])
    if len(names) != int(count[0]):
        raise line_error(path, 1, f"announces {count[0]} images and {len(names)} follow")
    values = torch.tensor(rows, dtype=torch.bool).view(len(names), len(wanted))
    return names, {name: values[:, column] for column, name in enumerate(wanted)}


def check_names(folder: Path, names: list[str], parts: dict[str, int]) -> None:
    """Raise unless every listed image has a part and its file exists."""
    if unassigned := [name for name in names if name not in parts]:
        raise NormbenchError(
            f"{folder / PARTITION} does not say the part of {unassigned[0]} ({len(unassigned)} such)", "copy it again"
        )
    present = {entry.name for entry in os.scandir(folder / IMAGES)}
    if absent := [name for name in names if name not in present]:
        raise NormbenchError(
            f"{folder / IMAGES / absent[0]} is missing ({len(absent)} of {len(names)} images)",
            "unpack the archive again",
        )


def numbered_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number of every non-empty line, from 1, and its words."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NormbenchError(f"{path} cannot be read", "copy it again") from error
    return ((number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def line_error(path: Path, number: int, what: str) -> NormbenchError:
    return NormbenchError(f"{path} is damaged: line {number} {what}", "copy it again")
