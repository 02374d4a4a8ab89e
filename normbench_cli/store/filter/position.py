"""A position in the text of a filter, for messages."""

from __future__ import annotations

from dataclasses import dataclass

from normbench_cli.errors import UsageError

MOST_SHOWN = 40  # characters of a filter that a message quotes


@dataclass(frozen=True)
class Position:
    """The rest of a filter's text from the character at `start`, counted from 0."""

    text: str
    start: int

    def error(self, what: str, do: str) -> UsageError:
        """An error at this position, and what to do about it."""
        return UsageError(f"{what}, at character {self.start + 1} of the filter: {self._excerpt()}", do)

    def _excerpt(self) -> str:
        rest = self.text[self.start :]
        return f"'{printable(rest)}'" if rest.strip() else "its end"


def printable(text: str) -> str:
    """The beginning of a text, on one line."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[:MOST_SHOWN])
    return shown + "..." * (len(text) > MOST_SHOWN)
