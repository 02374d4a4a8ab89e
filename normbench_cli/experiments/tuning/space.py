"""The search space of a tuning: ranges of settings, ``lr=log:0.001..1``, and of parameters of components,
``augnorm:phi=1.1..1.9``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from normbench_cli.axes.assignments import split_assignments
from normbench_cli.axes.values import number_type
from normbench_cli.config import FIELDS, TYPES, RunConfig, check_name
from normbench_cli.errors import UsageError
from normbench_cli.experiments.tuning.parameters import find_parameter, is_parameter, whose_parameter
from normbench_cli.registry.bounds import Bounds
from normbench_cli.registry.spec import suggest

USUAL = ("lr=log:0.001..1", "weight_decay=log:0.00001..0.01", "init_gain=log:0.25..4")
NOT_FOR_GRAPHS = "init_gain"  # graph networks initialize themselves
DIGITS = 4  # of the values tried, so that they can be typed
SEARCHABLE = tuple(
    name
    for name, field in FIELDS.items()
    if field.metadata["identity"] and TYPES[name] in (int, float) and name not in ("seed", "folds", "validation")
)


@dataclass(frozen=True)
class Range:
    """The values of a setting from low to high.

    log: sampled uniformly in log space.  whole: integers only.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __str__(self) -> str:
        return f"{'log:' * self.log}{self.low:g}..{self.high:g}"

    def rounded(self, value: float) -> float:
        """A value rounded as it is tried: to four significant digits within the range, or to an integer."""
        kept = min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)
        return round(kept) if self.whole else kept


Space = dict[str, Range]


def parse_space(texts: Iterable[str], contenders: Sequence[RunConfig] = ()) -> Space:
    """Parse the ranges of ``--over`` by setting or parameter, in a fixed order; the defaults if there are none.

    contenders: those whose components may have parameters to search.
    """
    graphs = any(config.folds for config in contenders)
    usual = [text for text in USUAL if not (graphs and text.startswith(NOT_FOR_GRAPHS))]
    space: Space = {}
    for written, text in split_assignments("--over", list(texts) or usual):
        name, kind, bounds = declared(written, contenders)
        if name in space:
            raise UsageError(f"--over names {name} twice", "give one range")
        space[name] = parse_range(f"--over {written}={text}", text, bounds, whole=kind is int)
    return {name: space[name] for name in sorted(space, key=place)}


def place(name: str) -> tuple[int, str]:
    """The sort key of a name in a space: the points tried depend on its order, which the user's must not affect."""
    return (len(FIELDS), name) if is_parameter(name) else (list(FIELDS).index(name), "")


def declared(name: str, contenders: Sequence[RunConfig]) -> tuple[str, type[int] | type[float] | None, Bounds]:
    """The full name, type and bounds of the setting or parameter with this name."""
    if is_parameter(name):
        full, parameter = find_parameter(name, contenders)
        return full, number_type(parameter.type), parameter.bounds
    if name not in FIELDS and (owners := whose_parameter(name, contenders)):
        raise UsageError(f"--over {name}: a parameter is named with its component", f"write {owners[0]}")
    check_name(name)
    if name not in SEARCHABLE:
        raise UsageError(f"--over {name}: it is not a number that can be searched", suggest(name, list(SEARCHABLE)))
    return name, number_type(TYPES[name]), FIELDS[name].metadata["bounds"]


def parse_range(option: str, text: str, bounds: Bounds, *, whole: bool = False) -> Range:
    """Parse and check ``log:0.001..1`` or ``0..0.9``.  option: its name in messages."""
    log, ends = text.startswith("log:"), text.removeprefix("log:")
    low, dots, high = ends.partition("..")
    if "/" in high:
        raise UsageError(f"{option} lists values, and a range is searched", f"write {text.partition('/')[0]}")
    try:
        found = Range(float(low), float(high), log, whole)
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
