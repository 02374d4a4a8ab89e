"""Comparisons for a column: the kind of its values, and how they are read from text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, get_args

from normbench_cli.config import FIELDS, REGISTRIES, TYPES
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import read_value, suggest
from normbench_cli.store.filter.position import printable
from normbench_cli.store.metric_names import unit_of
from normbench_cli.store.status import STATUSES

Test = Callable[[Any], bool]
TIMES = ("started_at", "finished_at")
COLUMNS = ("id", "kind", "status", "message", "fingerprint", *TIMES)  # of a run, besides its settings
NAMES = (*FIELDS, *COLUMNS)
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?(Z|[+-]\d\d:\d\d)?")


def is_metric(name: str) -> bool:
    return name not in NAMES


def looks_like_a_metric(name: str) -> bool:
    """Whether a name can only be a metric's, because it has a split, a condition or a unit."""
    return "/" in name or "@" in name or bool(unit_of(name))


def kind_of(name: str) -> str:
    """The kind of a column's values: ``number``, ``time``, ``bool`` or ``text``."""
    if name in TIMES:
        return "time"
    if is_metric(name):
        return "number"
    types = set(get_args(TYPES.get(name, str)) or [TYPES.get(name, str)]) - {NoneType}
    if types <= {int, float}:
        return "number"
    return "bool" if types == {bool} else "text"


def equals_any(name: str, texts: Sequence[str], recorded: Collection[Any]) -> Test:
    """A test whether a value is one of these; `recorded` are the column's values."""
    if name in TIMES:
        moments = [read_moment(name, text) for text in texts]
        return lambda value: any(moment.holds(value) for moment in moments)
    if is_metric(name):
        numbers = [read_number(name, text) for text in texts]
        return lambda value: any(same_number(value, number) for number in numbers)
    accepted = read_settings(name, texts, recorded)
    return lambda value: value in accepted


def read_settings(name: str, texts: Sequence[str], recorded: Collection[Any]) -> list[Any]:
    """Convert texts to values of a setting; text that equals a recorded value needs no registry.  Nothing is ever
    imported."""
    known, values = set(recorded), []
    for text in texts:
        if text in known:
            values.append(text)
        elif name in REGISTRIES:
            values.append(REGISTRIES[name].recorded_form(text))
        elif name == "status" and text not in STATUSES:
            raise UsageError(f"'{printable(text)}' is not the status of a run", suggest(text[:40], list(STATUSES)))
        else:
            values.append(read_value(text, TYPES.get(name, str), name))
    return values


def ordered(name: str, operator: str, text: str) -> Test:
    """A test whether a value is less, or more, than this one."""
    kind = kind_of(name)
    if kind == "time":
        moment = read_moment(name, text)
        return lambda value: isinstance(value, datetime) and moment.compare(value, operator)
    if kind != "number":
        raise UsageError(f"{operator} compares numbers and times, and {name} is neither", f"write {name} = or !=")
    bound = read_number(name, text)
    if bound is None:
        raise UsageError(f"{operator} compares with a number, and {printable(text)} is none", "write = or !=")
    limit = bound
    compare = ORDERS[operator]
    return lambda value: is_number(value) and compare(value, limit)


ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_number(value: Any, number: float | None) -> bool:
    """Equality where nan equals nan, and a missing value equals only none."""
    if number is None or value is None:
        return number is None and value is None
    return bool(value == number) or (math.isnan(number) and value != value)


def read_number(name: str, text: str) -> float | None:
    """Read a number, a percentage, or ``none``, which stands for a missing value."""
    if text.lower() == "none":
        return None
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"{name} is compared with '{printable(text)}', which is not a number", "write one") from None


@dataclass(frozen=True)
class Moment:
    """A day, a minute or a second: from `start` to `end`, exclusive."""

    start: datetime
    end: datetime

    def holds(self, value: Any) -> bool:
        return isinstance(value, datetime) and self.start <= value < self.end

    def compare(self, value: datetime, operator: str) -> bool:
        """Whether a time is before or after the whole interval; with ``<=`` and ``>=``, also inside it."""
        if operator in ("<", ">="):
            return ORDERS[operator](value, self.start)
        return value < self.end if operator == "<=" else value >= self.end


def read_moment(name: str, text: str) -> Moment:
    """Read ``2026-11-19``, ``2026-11-19T14:30`` or ``'2026-11-19 14:30:05'``, in local time unless a zone is given."""
    found = MOMENT.fullmatch(text)
    try:
        if not found:
            raise ValueError
        start = datetime.fromisoformat(text)
        length = timedelta(days=1) if not found[2] else timedelta(minutes=1) if not found[3] else timedelta(seconds=1)
        return Moment(start.astimezone(), (start + length).astimezone())
    except (ValueError, OverflowError, OSError):
        do = "write 2026-11-19 or '2026-11-19 14:30'"
        raise UsageError(f"{name} is compared with '{printable(text)}', which is not a time", do) from None


def like(name: str, pattern: str) -> Test:
    """A test for a pattern, ignoring case: ``%`` matches any text, ``_`` one character."""
    if kind_of(name) != "text":
        raise UsageError(f"like compares text, and {name} is a {kind_of(name)}", "write = or <")
    parts = [Part()]
    for token in TOKEN.findall(pattern):
        if token == "%":
            parts.append(Part())
        else:
            parts[-1] = parts[-1].followed_by(token)
    return lambda value: isinstance(value, str) and has_parts(value, parts)


TOKEN = re.compile(r"\\[%_\\]|.", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """The part of a pattern between two ``%``: a regular expression that matches text of fixed length."""

    pattern: str = ""
    length: int = 0

    def followed_by(self, token: str) -> Part:
        """Append a character; a backslash escapes ``%``, ``_`` and itself."""
        return Part(self.pattern + ("." if token == "_" else re.escape(token[-1])), self.length + 1)

    def find(self, text: str, start: int) -> re.Match[str] | None:
        return re.compile(self.pattern, re.IGNORECASE | re.DOTALL).search(text, start)

    def at(self, text: str, start: int) -> bool:
        return bool(re.compile(self.pattern, re.IGNORECASE | re.DOTALL).match(text, start))


def has_parts(text: str, parts: Sequence[Part]) -> bool:
    """Whether the text starts with the first part, ends with the last, and has the others in between in this order.

    Each part is searched once, so that no pattern takes long.
    """
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return len(text) == first.length and first.at(text, 0)
    end, begin_of_last = first.length, len(text) - last.length
    if end > begin_of_last or not first.at(text, 0) or not last.at(text, begin_of_last):
        return False
    for part in parts[1:-1]:
        found = part.find(text, end)
        if not found:
            return False
        end = found.end()
    return end <= begin_of_last
