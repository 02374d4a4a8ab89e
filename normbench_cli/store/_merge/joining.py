"""What becomes of a run that two databases have: rules that give the same in any order, and twice as once.

Each rule is a maximum of some total order, or a union, so that it is associative, commutative and idempotent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from normbench_cli.store._merge.collisions import BEFORE
from normbench_cli.store.rows import Row, kept_count
from normbench_cli.store.thin import THINNED

ENDED = ("running", "killed", "interrupted", "incomplete", "failed", "diverged", "finished")  # least to most final
OWN_RULES = ("id", "tag", "note", "details")  # of these columns
Values = tuple[Any, ...]


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def state_of(row: Row) -> tuple[datetime, int, str]:
    """The later state counts: by the last sign of life, then the more final status, then anything that decides."""
    others = {name: value for name, value in row.items() if name not in OWN_RULES}
    return row["heartbeat_at"], ENDED.index(row["state"]), text_of(others)


def join_rows(one: Row, other: Row) -> Row:
    """A night or a run: the row of the later state, with what was noted in either."""
    row: Row = {**(one if state_of(one) >= state_of(other) else other)}
    if "details" in row:
        row["details"] = join_details(one["details"], other["details"])
        for name in ("tag", "note"):
            row[name] = max(edited(one, name), edited(other, name))[1]
    return row


def edited(run: Row, name: str) -> tuple[bool, str]:
    """What was changed since the run began counts before what was not."""
    return run[name] != run["config"].get(name, ""), run[name]


def join_details(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Every key of either; the longer value of a key that differs."""
    return {key: max((found[key] for found in (one, other) if key in found), key=length) for key in {**one, **other}}


def length(value: Any) -> tuple[int, str]:
    return len(text_of(value)), text_of(value)


def missing_rows(present: Iterable[Values], wanted: Iterable[Values]) -> list[Values]:
    """What has to be added so that each row is there as often as in the database that has it most often."""
    return list((Counter(map(comparable, wanted)) - Counter(map(comparable, present))).elements())


def comparable(row: Values) -> Values:
    """nan differs from itself; the database has NULL for it."""
    return tuple(None if value != value else value for value in row)


def join_values(one: Iterable[Values], other: Iterable[Values]) -> list[Values]:
    """The values of a night, with their runs last: as many of each as either has, and the runs that either knows."""
    sides = [Counter(map(comparable, side)) for side in (one, other)]
    known: Counter[Values] = Counter({row: n for row, n in (sides[0] | sides[1]).items() if row[-1] is not None})
    with_run = Counter(row[:-1] for row in known.elements())
    counts = [Counter(row[:-1] for row in side.elements()) for side in sides]
    removed = (counts[0] | counts[1]) - with_run
    return sorted([*known.elements(), *((*row, None) for row in removed.elements())], key=lambda row: by_time(row[:-1]))


def by_time(row: Values) -> tuple[Any, ...]:
    """The order of measurements: the last row of a name counts.  The time stands last in a row."""
    *values, moment = row
    return moment, [(value is not None, str(type(value)), value) if value is not None else (False,) for value in values]


def more_complete(one: Sequence[Row], other: Sequence[Row]) -> Sequence[Row]:
    """The raw series of a run, from the database that has more of them: chunks of two would overlap."""
    return max(one, other, key=completeness)


def completeness(chunks: Sequence[Row]) -> tuple[int, int, list[str]]:
    stored = sum(kept_count(chunk["count"], chunk["thinned"]) for chunk in chunks)
    return sum(chunk["count"] for chunk in chunks), stored, sorted(map(repr, map(chunk_values, chunks)))


def chunk_values(chunk: Row) -> Values:
    return tuple(chunk[name] for name in ("name", "epoch", "first_step", "count", "thinned", "data"))


def with_marks(noted: Mapping[str, Any], first: str, now: str, chunks: Iterable[Row] | None = None) -> dict[str, Any]:
    """The details of a run, or the verdict of a night, that say which id it had and whether its series are thinned."""
    marks: dict[str, Any] = {} if first == now else {BEFORE: first}
    if every := max((chunk["thinned"] or 0 for chunk in chunks or ()), default=0):
        marks[THINNED] = {"one_of": every}
    rest = {key: value for key, value in noted.items() if key != BEFORE and not (key == THINNED and chunks is not None)}
    return {**rest, **marks}
