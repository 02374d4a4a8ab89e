"""Ids of runs and nights of several databases: each keeps its own, unless two of them have the same by chance.

The ids are a function of what is in the databases, so they do not depend on the order in which these are merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

BEFORE = "id_before_merge"  # in the details of a run, or the verdict of a night, that got another id
Identity = tuple[str, str, str, str]  # the id it began with, when it began, and two facts that never change


def identity(run_id: str, noted: Mapping[str, Any], *facts: str) -> Identity:
    """What tells a run from every other.  noted: where its first id stands if it has another one now."""
    first = noted.get(BEFORE)
    started, *others = facts
    return (first if isinstance(first, str) else run_id, started, *others)  # type: ignore[return-value]


def assign_ids(identities: Iterable[Identity]) -> dict[Identity, str]:
    """Of those with the same id the oldest keeps it; each other gets one that follows from its identity."""
    wanted = sorted(set(identities))
    ids: dict[Identity, str] = {}
    taken = {one[0] for one in wanted}
    later: list[Identity] = []
    given: set[str] = set()
    for one in wanted:
        if one[0] in given:
            later.append(one)
        else:
            ids[one] = one[0]
            given.add(one[0])
    for one in later:
        ids[one] = derived_id(one, taken)
        taken.add(ids[one])
    return ids


def derived_id(one: Identity, taken: set[str]) -> str:
    attempts = (hashlib.sha256(json.dumps([*one, number]).encode()).hexdigest()[:8] for number in range(2**32))
    return next(found for found in attempts if found not in taken)
