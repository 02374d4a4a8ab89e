"""Nested settings and facts, flattened to dotted names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values with their names: ``{"git": {"dirty": True}}`` has ``git.dirty``."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
