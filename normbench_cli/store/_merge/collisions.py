"""Ids of runs and nights from several databases: each keeps its id, unless two have the same one by chance.

The ids depend only on the contents of the databases, not on the order in which these are merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

BEFORE = "id_before_merge"  # key in the details of a run, or the verdict of a night, whose id was changed
Identity = tuple[str, str, str, str]  # the original id, the start time, and two immutable facts


def identity(run_id: str, noted: Mapping[str, Any], *facts: str) -> Identity:
    """A globally unique key of a run or night.  noted: has the original id if it was changed."""
    first = noted.get(BEFORE)
    started, *others = facts
    return (first if isinstance(first, str) else run_id, started, *others)  # type: ignore[return-value]


def assign_ids(identities: Iterable[Identity]) -> dict[Identity, str]:
    """Assign ids: of equal ones, the oldest keeps it; the others get one derived from their identity."""
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
