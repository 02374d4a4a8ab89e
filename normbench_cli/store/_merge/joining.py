"""Merging a run that two databases have, with the same result in any order, and no change when repeated.

Each rule is the maximum of a total order, or a union, so it is associative, commutative and idempotent.
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

# least to most final
BY_FINALITY = ("running", "killed", "interrupted", "incomplete", "failed", "diverged", "finished")
OWN_RULES = ("id", "tag", "note", "details")  # columns with rules of their own
Values = tuple[Any, ...]


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def state_of(row: Row) -> tuple[datetime, int, str]:
    """Sort key for the later state: by the last heartbeat, then the more final status, then an arbitrary tie-break."""
    others = {name: value for name, value in row.items() if name not in OWN_RULES}
    return row["heartbeat_at"], BY_FINALITY.index(row["state"]), text_of(others)


def join_rows(one: Row, other: Row) -> Row:
    """Join two versions of a run or night: the row with the later state, and the details, tag and note from both."""
    row: Row = {**(one if state_of(one) >= state_of(other) else other)}
    if "details" in row:
        row["details"] = join_details(one["details"], other["details"])
        for name in ("tag", "note"):
            row[name] = max(edited(one, name), edited(other, name))[1]
    return row


def edited(run: Row, name: str) -> tuple[bool, str]:
    """Sort key for a tag or note: one that was edited after the run began takes precedence, then the later in the
    alphabet; databases do not record when it was edited."""
    return run[name] != run["config"].get(name, ""), run[name]


def join_details(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The union of the keys; of two different values, the longer one."""
    return {key: max((found[key] for found in (one, other) if key in found), key=length) for key in {**one, **other}}


def length(value: Any) -> tuple[int, str]:
    return len(text_of(value)), text_of(value)


def missing_rows(present: Iterable[Values], wanted: Iterable[Values]) -> list[Values]:
    """The rows to add so that each is present at least as often as it is wanted."""
    return list((Counter(map(comparable, wanted)) - Counter(map(comparable, present))).elements())


def comparable(row: Values) -> Values:
    """Replace nan, which differs from itself, by None; the database stores it as NULL."""
    return tuple(None if value != value else value for value in row)


def join_values(one: Iterable[Values], other: Iterable[Values]) -> list[Values]:
    """The values of a night: each as often as in the database with more of it, with the runs (last column) that either
    has."""
    sides = [Counter(map(comparable, side)) for side in (one, other)]
    known: Counter[Values] = Counter({row: n for row, n in (sides[0] | sides[1]).items() if row[-1] is not None})
    with_run = Counter(row[:-1] for row in known.elements())
    counts = [Counter(row[:-1] for row in side.elements()) for side in sides]
    removed = (counts[0] | counts[1]) - with_run
    return sorted([*known.elements(), *((*row, None) for row in removed.elements())], key=lambda row: by_time(row[:-1]))


def by_time(row: Values) -> tuple[Any, ...]:
    """Sort key for measurements, where the last row of a name counts.  The time is a row's last column."""
    *values, moment = row
    return moment, [(value is not None, str(type(value)), value) if value is not None else (False,) for value in values]


def more_complete(one: Sequence[Row], other: Sequence[Row]) -> Sequence[Row]:
    """A run's raw series from the database that has more of them; the chunks of both would overlap."""
    return max(one, other, key=completeness)


def completeness(chunks: Sequence[Row]) -> tuple[int, int, list[str]]:
    stored = sum(kept_count(chunk["count"], chunk["thinned"]) for chunk in chunks)
    return sum(chunk["count"] for chunk in chunks), stored, sorted(map(repr, map(chunk_values, chunks)))


def chunk_values(chunk: Row) -> Values:
    return tuple(chunk[name] for name in ("name", "epoch", "first_step", "count", "thinned", "data"))


def with_marks(
    noted: Mapping[str, Any], first: str, new_id: str, chunks: Iterable[Row] | None = None
) -> dict[str, Any]:
    """Add the original id, and whether the series are thinned, to the details of a run or the verdict of a night."""
    marks: dict[str, Any] = {} if first == new_id else {BEFORE: first}
    if every := max((chunk["thinned"] or 0 for chunk in chunks or ()), default=0):
        marks[THINNED] = {"one_of": every}
    rest = {key: value for key, value in noted.items() if key != BEFORE and not (key == THINNED and chunks is not None)}
    return {**rest, **marks}
