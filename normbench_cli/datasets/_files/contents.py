"""A short digest of files and folders: equal for equal contents, wherever they are.

Of a file, the name and the bytes are hashed.  Of a folder, the manifest is hashed, i.e. the relative names and sizes of
its files, because a folder of images is too large to be read for this.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from normbench_cli.datasets._files.hashes import hash_of

DIGITS = 16  # hexadecimal, as in a fingerprint
DESKTOP_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}  # created by file managers


@dataclass(frozen=True)
class Contents:
    """place: the file that was read, or the folder that holds all files."""

    place: str
    digest: str
    files: int
    bytes: int


def contents_of(paths: Sequence[Path]) -> Contents:
    """The joint contents of files and folders, independent of their order."""
    place = paths[0] if len(paths) == 1 else Path(os.path.commonpath([path.absolute().parent for path in paths]))
    digest, files, total = hashlib.sha256(), 0, 0
    for path in sorted(paths, key=lambda path: path.name):
        name = path.name if len(paths) > 1 else ""  # a single file or folder is the same under any name
        for inside, size, content in folder_lines(path, name) if path.is_dir() else [file_line(path, name)]:
            digest.update(f"{inside}\0{size}\0{content}\n".encode("utf-8", "surrogateescape"))
            files, total = files + 1, total + max(size, 0)
    return Contents(str(place.absolute()), digest.hexdigest()[:DIGITS], files, total)


def file_line(path: Path, name: str) -> tuple[str, int, str]:
    return name, path.stat().st_size, hash_of(path)


def folder_lines(folder: Path, name: str) -> Iterator[tuple[str, int, str]]:
    """The files in a folder and its subfolders, sorted; links are followed."""
    to_see = [(str(folder), name)]
    while to_see:
        path, name = to_see.pop()
        with os.scandir(path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        for entry in entries:
            inside = f"{name}/{entry.name}"
            if entry.is_dir():
                to_see.append((entry.path, inside))
            elif entry.name not in DESKTOP_FILES:
                yield inside, size_of(entry), ""


def size_of(entry: os.DirEntry[str]) -> int:
    """The size in bytes; -1 for a broken link."""
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return -1
