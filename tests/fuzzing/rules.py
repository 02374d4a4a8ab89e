"""What every command keeps to, whatever it is given: the rules of the contract that can be seen from outside."""

from __future__ import annotations

import json
from dataclasses import dataclass

from normbench_cli.printable import printable

CODES = {0, 1, 2, 3, 4, 5}
MAY_FAIL_QUIETLY = {0, 3, 4, 5}


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def broken_rules(words: list[str], ended: Ended) -> list[str]:
    """The rules that a command has broken."""
    lines = ended.err.splitlines()
    errors = [line for line in lines if line.startswith("normbench: ")]
    broken = [f"exit code {ended.code}"] if ended.code not in CODES else []
    broken += [line for line in errors if line.startswith("normbench: unexpected")]
    broken += [f"a warning: {line}" for line in lines if "Warning:" in line]
    broken += ["what a terminal obeys"] if printable(ended.out + ended.err) != ended.out + ended.err else []
    if "--debug" not in words:
        broken += ["a traceback"] if "Traceback" in ended.err else []
        broken += [f"{len(errors)} lines of error"] if len(errors) != 1 and not is_quiet(words, ended) else []
    if "--json" in words and ended.out.strip() and "--help" not in words and not is_json(ended.out):
        broken.append(f"no JSON document: {ended.out[:80]!r}")
    return broken


def is_quiet(words: list[str], ended: Ended) -> bool:
    """Whether there need be no line of error; `db check` and `doctor` print what they find."""
    return ended.code in MAY_FAIL_QUIETLY or (ended.code == 1 and bool({"check", "doctor"} & set(words[:2])))


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
