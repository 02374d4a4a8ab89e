"""Checks of the command-line arguments, before anything parses them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from normbench_cli.errors import UsageError

COMPLETION = "_NORMBENCH_COMPLETE"  # set by a shell for completion, together with what was typed
TYPED = ({"COMP_WORDS", "COMP_CWORD"}, {"_TYPER_COMPLETE_ARGS"})
MAY_BE_EMPTY = ("--note", "--format")  # no note; no files
LONGEST = 255  # bytes of a file name on every system in use; no component name is longer
REMOVE_BY_EMPTY = (["runs", "tag"], ["runs", "note"])  # commands in which an empty argument removes a label
SEPARATORS = re.compile("[/\\\\,=:+]")


def ignore_stray_completion() -> None:
    """Drop the variable if what was typed is missing: then no completing shell has set it, and the command runs."""
    wanted = os.environ.get(COMPLETION, "")
    if wanted and not wanted.startswith("source_") and not any(names <= os.environ.keys() for names in TYPED):
        del os.environ[COMPLETION]


def check_arguments(words: Sequence[str]) -> None:
    """Reject an argument that is not UTF-8, contains too long a name, or is empty, as an unset shell variable leaves
    it."""
    for word, previous in zip(words, ("", *words), strict=False):
        if not is_utf8(word):
            raise UsageError(f"the argument {word!r} is not in UTF-8", "write it in UTF-8")
        option = previous if not word else word.removesuffix("=") if re.fullmatch("--[a-z-]+=", word) else ""
        if (option or not word) and option not in MAY_BE_EMPTY and not removes_label(words, option):
            name = option if option.startswith("-") else "an argument"
            raise UsageError(f"{name} is empty", "give it a value, or leave it out")
        longest = max(SEPARATORS.split(word), key=len)
        if len(longest.encode()) > LONGEST and not re.search("\\s", word):  # a sentence contains no names
            raise UsageError(
                f"the name {longest[:20]}... has {len(longest):,} characters", f"give a name of at most {LONGEST} bytes"
            )


def removes_label(words: Sequence[str], option: str) -> bool:
    """Whether an empty argument is the new tag or note of `runs tag` or `runs note`, not the value of an option."""
    return list(words[:2]) in REMOVE_BY_EMPTY and option != "--db"


def is_utf8(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # bytes that Python could not decode
        return False
    return True
