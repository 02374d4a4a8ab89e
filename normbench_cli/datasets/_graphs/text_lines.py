"""Shared by both readers of text files: reading lines, and errors that name the file and the line."""

from __future__ import annotations

from pathlib import Path

from normbench_cli.errors import NormbenchError

REMEDY = "download the data set again, or correct the file"


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, without trailing empty ones."""
    try:
        return path.read_text(encoding="utf-8").rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise NormbenchError(f"{path} cannot be read: {why}", REMEDY) from error


def line_error(path: Path, line: int, what: str) -> NormbenchError:
    return NormbenchError(f"{path}, line {line}: {what}", REMEDY)
