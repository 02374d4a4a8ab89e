"""What differs between two sides: settings, and facts about code and machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from normbench_cli.config import FIELDS, IDENTITY
from normbench_cli.nested import flattened
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.compare.sides import COMPARED, Side
from normbench_cli.store import Store
from normbench_cli.store.queries import environment_facts


@dataclass(frozen=True)
class Difference:
    """A setting or fact, and its values on either side as text."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]


def differing_settings(a: Side, b: Side) -> list[Difference]:
    """The settings whose values differ between the sides."""
    known = [name for name in (*FIELDS, *a.runs.columns) if name in a.runs and name in b.runs]
    names = [name for name in dict.fromkeys(known) if name in FIELDS]
    found = (Difference(name, values_of(a.runs[name]), values_of(b.runs[name])) for name in names)
    return [one for one in found if one.a != one.b]


def differing_facts(store: Store, a: Side, b: Side) -> list[Difference]:
    """The facts about code and machine that differ between the sides, with dotted names."""
    mine, theirs = (facts_of(store, side) for side in (a, b))
    found = (Difference(name, mine.get(name, ()), theirs.get(name, ())) for name in dict.fromkeys([*mine, *theirs]))
    return [one for one in found if one.a != one.b]


def facts_of(store: Store, side: Side) -> dict[str, tuple[str, ...]]:
    environments = [dict(flattened(facts)) for facts in environment_facts(store, side.runs["id"].tolist())]
    names = dict.fromkeys(name for facts in environments for name in facts)
    return {name: values_of([facts[name] for facts in environments if name in facts]) for name in names}


def values_of(values: pd.Series | Sequence[Any]) -> tuple[str, ...]:
    """Return the unique values, sorted: numbers by size, then text."""
    found = {format_value(value): value for value in values}
    return tuple(sorted(found, key=lambda text: (isinstance(found[text], str), sortable(found[text]), text)))


def sortable(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def pairing_settings(a: Side, b: Side) -> list[str]:
    """The settings that vary within a side and have values in common with the other: runs are paired by them.

    A setting without common values is what is being compared.
    """
    runs = [side.runs[side.runs["status"].isin(COMPARED)] for side in (a, b)]
    found = []
    for name in IDENTITY:
        mine, theirs = (set(values_of(frame[name])) for frame in runs)
        if name != "seed" and max(len(mine), len(theirs)) > 1 and mine & theirs:
            found.append(name)
    return found
