"""Errors that a user can fix, each in one line: what happened and what to do; and the program's exit codes."""

from __future__ import annotations

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_REGRESSION = 3
EXIT_NOTHING_MEASURED = 4
EXIT_INCOMPLETE = 5
EXIT_INTERRUPTED = 130


class NormbenchError(Exception):
    """An error that the user can fix: `what` happened and what to `do` about it, in one line."""

    exit_code = EXIT_ERROR

    def __init__(self, what: str, do: str = "") -> None:
        self.what = what.rstrip(".")
        super().__init__(f"{self.what}; {do}" if do else what)


class UsageError(NormbenchError):
    """A wrong name, value or combination of options."""

    exit_code = EXIT_USAGE


class InterruptedCommand(NormbenchError):
    """The user interrupted a command."""

    exit_code = EXIT_INTERRUPTED


class DatabaseError(NormbenchError):
    """The results database cannot be used in its present state."""


def first_sentence(error: BaseException, most: int = 200) -> str:
    """The first sentence of another library's error, to be quoted in a message; its type if it has no text."""
    line = str(error).strip().partition("\n")[0]
    return line.partition(". ")[0].rstrip(":. ")[:most] or type(error).__name__


def last_line(error: BaseException) -> str:
    """The last line of an error whose text is a traceback; its type if it has no text."""
    return str(error).strip().rpartition("\n")[2] or type(error).__name__
