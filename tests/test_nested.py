"""Nested values become dotted names."""

from __future__ import annotations

from normbench_cli.nested import flattened


def test_names_are_joined_by_dots() -> None:
    values = {"a": 1, "b": {"c": [2], "d": {"e": None}, "f": {}}}
    assert dict(flattened(values)) == {"a": 1, "b.c": [2], "b.d.e": None}
