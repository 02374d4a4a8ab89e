"""Checks of the keys and value types of a file.  Errors name the place and what to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from normbench_cli.config import REGISTRIES
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest

Table = Mapping[str, Any]
TEXT, TEXTS, NUMBER = (str, "text"), (list, "a list of texts"), (int | float, "a number")
WORDS = ("metric", "curve", "unit", "reported", "note", "panel", "title", "paper", "place", *REGISTRIES)
EXPECTED: dict[str, tuple[Any, str]] = dict.fromkeys(WORDS, TEXT) | {
    "notes": TEXTS,
    "marks": TEXTS,
    "n": NUMBER,
    "at": NUMBER,
    "value": NUMBER,
}


def check_table(value: Any, name: str, where: str) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: '{name}' is not a table", f"write [{name}]")


def check_types(values: Table, where: str) -> None:
    """Check for text where text is meant, a list of texts for `notes` and `marks`, a number for `n` and `value`."""
    for key, value in values.items():
        expected, words = EXPECTED.get(key, (str | int | float, "text or a number"))
        listed = isinstance(value, list) and not all(isinstance(one, str) for one in value)
        if not isinstance(value, expected) or listed:
            raise UsageError(f"{where}: {key} is {value!r}", f"write {words}")


def check_keys(given: Iterable[str], known: Iterable[str], where: str) -> None:
    choices = list(known)
    for key in given:
        if key not in choices:
            raise UsageError(f"{where}: there is no '{key}'", suggest(key, choices))
