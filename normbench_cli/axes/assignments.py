"""Settings written as ``key=value``, for ``--set`` and ``--over``."""

from __future__ import annotations

from collections.abc import Iterable

from normbench_cli.config import check_name
from normbench_cli.errors import UsageError


def read_assignments(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Parse texts into names and values; names must be settings."""
    pairs = split_assignments(option, texts)
    for name, _ in pairs:
        check_name(name)
    return pairs


def split_assignments(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """The same, with arbitrary names."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} {text} is not key=value", f"write {option} key=value")
        pairs.append((name, value))
    return pairs
