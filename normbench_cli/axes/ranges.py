"""Ranges of numbers: ``1.1..1.9/5`` is five numbers, evenly spaced; ``log:0.01..1/7`` is seven, evenly spaced in log
scale.  Both ends are included.

Numbers between the ends are rounded to twelve significant digits, so they are the same on every machine and as short as
possible.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from normbench_cli.errors import UsageError

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
RANGE = re.compile(rf"(log:)?({NUMBER})\.\.({NUMBER})/([0-9]{{1,5}})")
HOW = "write FIRST..LAST/COUNT, such as 1.1..1.9/5, or log:0.01..1/7"
MOST = 10_000  # numbers in a range; more is a typing error
DIGITS = 12


def is_range(text: str) -> bool:
    """Whether the text of a number is a range."""
    return ".." in text or text.startswith("log:")


def read_range(text: str, where: str) -> list[float]:
    """The numbers of a range; `where` names it in messages."""
    found = RANGE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{where}={text} is not a range", HOW)
    log, first, last, count = found[1], found[2], found[3], int(found[4])
    ends = float(first), float(last)
    if not 2 <= count <= MOST:
        raise UsageError(f"{where}={text} has {count} {'value' if count == 1 else 'values'}", f"give 2 to {MOST:,}")
    if not all(map(math.isfinite, ends)) or ends[0] == ends[1]:
        raise UsageError(f"{where}={text} has no numbers between its ends", "give two different finite numbers")
    if log and min(ends) <= 0:
        raise UsageError(f"{where}={text} ends at {min(ends):g}, which has no logarithm", "give ends above 0")
    inner = log_spaced(*ends, count) if log else evenly_spaced(Fraction(first), Fraction(last), count)
    return [ends[0], *map(rounded, inner), ends[1]]


def read_whole_range(text: str, where: str) -> list[int]:
    """The numbers of a range for an integer setting."""
    numbers = read_range(text, where)
    for number in numbers:
        if not number.is_integer():
            raise UsageError(
                f"{where}={text} has {number:g}, which is not a whole number", "choose its ends and count to fit"
            )
    return [int(number) for number in numbers]


def evenly_spaced(first: Fraction, last: Fraction, count: int) -> list[float]:
    """The numbers between the ends, in exact arithmetic, so zero is exactly zero."""
    return [float(first + (last - first) * step / (count - 1)) for step in range(1, count - 1)]


def log_spaced(first: float, last: float, count: int) -> list[float]:
    low, high = math.log(first), math.log(last)
    return [math.exp(low + (high - low) * step / (count - 1)) for step in range(1, count - 1)]


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")
