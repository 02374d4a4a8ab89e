"""TOML files written by users: their content, and the line of each key, for messages."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normbench_cli.errors import NormbenchError, UsageError

SUFFIX = ".toml"
MOST_LINES = 1000  # that `line_of` searches, because it parses the file once for each line
Key = str | int


@dataclass(frozen=True)
class TomlFile:
    """A parsed file."""

    path: Path
    text: str
    content: dict[str, Any]

    def where(self, *keys: Key) -> str:
        """The location of a key, as in ``my.toml, line 3``; only the file if the line is not found."""
        line = self.line_of(keys)
        return f"{self.path}, line {line}" if line else str(self.path)

    def line_of(self, keys: Sequence[Key]) -> int:
        """The line on which a key's statement begins, found by parsing ever longer prefixes of the file; 0 if there is
        none."""
        lines = self.text.split("\n")[:MOST_LINES]
        after = 0
        for end in range(1, len(lines) + 1):
            try:
                content = tomllib.loads("\n".join(lines[:end]))
            except ValueError:  # in the middle of a statement
                continue
            if has(content, keys):
                return after + 1
            after = end
        return 0

    @contextmanager
    def naming(self, *keys: Key) -> Iterator[None]:
        """Prefix errors about a key with its location."""
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self.where(*keys)}: {error}") from error


def has(content: Any, keys: Sequence[Key]) -> bool:
    for key in keys:
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def read_toml(path: Path, what: str) -> TomlFile:
    """what: what the file should be, for the message if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        return TomlFile(path, text, tomllib.loads(text))
    except OSError as error:
        raise NormbenchError(f"{path} cannot be read: {error.strerror}", f"give the path of {what}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {str(error) or type(error).__name__}", "fix that line") from error
