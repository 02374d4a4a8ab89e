"""The settings that a tuning searches, each with its range: ``lr=log:0.001..1``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from normbench_cli.config import FIELDS, TYPES, read_assignments
from normbench_cli.errors import UsageError
from normbench_cli.registry.bounds import Bounds
from normbench_cli.registry.spec import suggest

USUAL = ("lr=log:0.001..1", "weight_decay=log:0.00001..0.01", "init_gain=log:0.25..4")
DIGITS = 4  # of a value that is tried, so that it can be typed
SEARCHABLE = tuple(
    name
    for name, field in FIELDS.items()
    if field.metadata["identity"] and TYPES[name] in (int, float) and name not in ("seed", "folds", "validation")
)


@dataclass(frozen=True)
class Range:
    """The values of a setting from low to high.  log: their logarithms are evenly spread, not they themselves."""

    low: float
    high: float
    log: bool = False

    def __str__(self) -> str:
        return f"{'log:' * self.log}{self.low:g}..{self.high:g}"

    def rounded(self, name: str, value: float) -> float:
        """A value of this range as it is tried: four digits, or a whole number."""
        kept = min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)
        return round(kept) if TYPES[name] is int else kept


Space = dict[str, Range]


def parse_space(texts: Iterable[str]) -> Space:
    """The ranges of ``--over`` by setting; the usual ones if there are none."""
    space: Space = {}
    for name, text in read_assignments("--over", list(texts) or USUAL):
        if name not in SEARCHABLE:
            raise UsageError(f"--over {name}: it is not a number that can be searched", suggest(name, list(SEARCHABLE)))
        if name in space:
            raise UsageError(f"--over names {name} twice", "give one range")
        space[name] = parse_range(f"--over {name}={text}", text, FIELDS[name].metadata["bounds"])
    return space


def parse_range(option: str, text: str, bounds: Bounds) -> Range:
    """``log:0.001..1`` or ``0..0.9``, checked.  option: how messages call it."""
    log, ends = text.startswith("log:"), text.removeprefix("log:")
    low, dots, high = ends.partition("..")
    if "/" in high:
        raise UsageError(f"{option} lists values, and a range is searched", f"write {text.partition('/')[0]}")
    try:
        found = Range(float(low), float(high), log)
    except ValueError:
        raise UsageError(f"{option} is not a range", "write log:0.001..1 or 0..0.9") from None
    if not dots or not math.isfinite(found.low + found.high) or found.low >= found.high:
        raise UsageError(f"{option} does not go up", f"write {'log:' * log}{high}..{low}")
    if log and found.low <= 0:
        raise UsageError(f"{option} begins at {found.low:g}, which has no logarithm", "begin above 0, or drop log:")
    for end in (found.low, found.high):
        if not bounds.accepts(end):
            raise UsageError(f"{option} reaches {end:g}", bounds.remedy)
    return found
