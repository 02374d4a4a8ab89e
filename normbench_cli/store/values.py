"""Validation of column values.  A file may be damaged or come from someone else, and SQLite checks no types.

The rules follow from the column declarations in `schema`, so a new column needs none of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sqlalchemy import JSON, Column, DateTime, Float, Integer, LargeBinary, String, TypeDecorator
from sqlalchemy.types import TypeEngine

from normbench_cli.config import TYPES
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.schema import Base
from normbench_cli.store.status import NIGHT_STATUSES, STATUSES

LONGEST_TEXT = 2**20  # characters
LARGEST_JSON = 2**22  # characters; nested lists take twenty times as much memory as their text
YEARS = range(1971, 9999)  # times that can be converted to any time zone
LARGEST_NUMBER = 2**63
LAST_STEP = 2**53

KINDS: dict[type[TypeEngine[Any]], type] = {
    String: str,
    Integer: int,
    Float: float,
    DateTime: datetime,
    LargeBinary: bytes,
}
Rule = Callable[[Any], str | None]  # a value of the right type -> what is wrong with it
WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    datetime: "a time",
    dict: "a JSON object",
    list: "a JSON list",
    bytes: "bytes",
}


def read_json(text: Any) -> Any:
    """Parse JSON text, after checking its length."""
    if not isinstance(text, str):
        raise DamagedValue(f"is {shown(text)}, not JSON")
    if len(text) > LARGEST_JSON:
        raise DamagedValue(f"is JSON of {len(text):,} characters, and {LARGEST_JSON:,} are the most that is read")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedValue(f"is not JSON: {shown(text)}") from error


def column_problem(column: Column[Any], values: Sequence[Any]) -> str | None:
    """What is wrong with the first invalid value of a column, or None."""
    column = Base.metadata.tables[column.table.name].columns[column.name]  # a query may hold a copy
    kind = kind_of(column)
    accepted = {kind, *([int] if kind is float else []), *([type(None)] if column.nullable else [])}
    if set(map(type, values)) - accepted:
        wrong = next(value for value in values if type(value) not in accepted)
        return f"is {shown(wrong)}, not {WORDS[kind]}"
    present = [value for value in values if value is not None]
    return next(filter(None, map(rule_of(column, kind), present)), None)


@cache
def kind_of(column: Column[Any]) -> type:
    """The Python type of a column's values."""
    declared: TypeEngine[Any] = column.type
    while isinstance(declared, TypeDecorator):
        declared = declared.impl_instance
    if isinstance(declared, JSON):
        return json_shape(column)
    return next(kind for known, kind in KINDS.items() if isinstance(declared, known))


def json_shape(column: Column[Any]) -> type:
    """dict or list, from the column's annotation in the table's class."""
    for mapper in Base.registry.mappers:
        if mapper.local_table is column.table:
            key = mapper.get_property_by_column(column).key
            (annotated,) = get_args(get_type_hints(mapper.class_)[key])
            options = get_args(annotated) if get_origin(annotated) in (Union, UnionType) else [annotated]
            return dict if dict in [get_origin(option) for option in options] else list
    raise TypeError(f"{column} belongs to no table of the schema")


def rule_of(column: Column[Any], kind: type) -> Rule:
    """The rule for values of the right type."""
    by_kind: dict[type, Rule] = {str: length_problem, datetime: year_problem}
    return RULES.get(str(column)) or by_kind.get(kind, no_problem)


def no_problem(_: Any) -> None:
    """Accept any value of the type."""


def length_problem(text: str) -> str | None:
    return f"is text of {len(text):,} characters" if len(text) > LONGEST_TEXT else None


def year_problem(moment: datetime) -> str | None:
    return None if moment.year in YEARS else f"is a time in the year {moment.year}"


def one_of(*words: str) -> Rule:
    return lambda word: None if word in words else f"is {shown(word)}, not one of {', '.join(words)}"


def day_problem(text: str) -> str | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return f"is {shown(text)}, not a day such as 2026-01-31"
    return None


def step_problem(step: int) -> str | None:
    return None if 0 <= step < LAST_STEP else f"is {step:,}, which no step or count of steps can be"


def thinned_problem(every: int) -> str | None:
    return None if 2 <= every < LAST_STEP else f"is {every:,}, and a thinned series keeps one of two values or fewer"


def settings_problem(config: dict[str, Any]) -> str | None:
    """Check the types of known settings; unknown ones, from other versions, may be anything."""
    for name, value in config.items():
        if name in TYPES and value is not None and not is_setting(value, TYPES[name]):
            return f"has {shown(value)} as {name}"
    return None


def is_setting(value: Any, declared: Any) -> bool:
    kinds = {str} if get_origin(declared) is Literal else {*(get_args(declared) or [declared])}
    if isinstance(value, int) and not isinstance(value, bool):
        return bool({int, float} & kinds) and abs(value) < LARGEST_NUMBER
    return type(value) in kinds


def shown(value: Any) -> str:
    """A value for a message: short, and without control characters."""
    if value is None:
        return "missing"
    text = ascii(value[:40]) if isinstance(value, str | bytes) else ascii(value)
    return text[:60]


RULES: dict[str, Rule] = {
    "runs.config": settings_problem,
    "runs.state": one_of(*STATUSES),
    "nights.state": one_of(*NIGHT_STATUSES),
    "nights.day": day_problem,
    "night_decisions.kind": one_of("accept", "mute"),
    "samples.first_step": step_problem,
    "samples.count": step_problem,
    "samples.thinned": thinned_problem,
}
