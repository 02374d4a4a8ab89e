"""A curve as a few characters, for a cell of a terminal table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-=*#"
MISSING = " "


def sparkline(values: Sequence[float], width: int = 12, encoding: str | None = "utf-8") -> str:
    """One character per value, scaled from lowest to highest: ``▁▃▆█``; more values than `width` are averaged.

    encoding: of the output stream; one without block characters gets ASCII.  Non-finite values are blank.
    """
    shown = averaged(list(map(float, values)), width)
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return ""
    signs, low = signs_for(encoding), min(finite)
    span = max(finite) - low
    return "".join(sign(value, low, span, signs) if math.isfinite(value) else MISSING for value in shown)


def sign(value: float, low: float, span: float, signs: str) -> str:
    """The character for a value's height; constant values get the middle one."""
    height = (value / span - low / span) if span else 0.5
    return signs[min(int(height * len(signs)), len(signs) - 1)]


def averaged(values: list[float], width: int) -> list[float]:
    """At most `width` values, each the mean of equally many neighbors."""
    if len(values) <= width:
        return values
    edges = [round(number * len(values) / width) for number in range(width + 1)]
    parts = [values[start:end] for start, end in pairwise(edges)]
    return [sum(value / len(part) for value in part) for part in parts]


def signs_for(encoding: str | None) -> str:
    try:
        BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS
