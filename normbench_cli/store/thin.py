"""Thinning raw series: one measured value of each block of consecutive ones is kept.

A thinned series has the same steps, medians and curves, with fewer points.  Values per epoch are not thinned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, update

from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.reading import CHUNKS_AT_ONCE, fetch
from normbench_cli.store.rows import pack, unpack
from normbench_cli.store.schema import Run, SeriesChunk
from normbench_cli.store.store import Store

THINNED = "thinned"  # key in a run's details; mentioned in reports
THINNABLE = ("finished", "diverged", "failed")  # an interrupted run may be resumed, which needs all measurements


@dataclass
class Thinning:
    """What was thinned, or would be: run ids; numbers of values and packed bytes before and after."""

    runs: list[str] = field(default_factory=list)
    values_before: int = 0
    values_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


def thin_runs(store: Store, run_ids: Iterable[str], every: int, *, dry_run: bool = False) -> Thinning:
    """Keep one of each `every` values of these runs' raw series.  Series that are already thinned are unchanged."""
    done = Thinning()
    for run_id in run_ids:
        try:
            thin_run(store, run_id, every, done, dry_run)
        except DamagedValue as error:
            store.left_out[f"the series of run {run_id}"] = str(error)
    return done


def thin_run(store: Store, run_id: str, every: int, done: Thinning, dry_run: bool) -> None:
    """Thin one run in one transaction."""
    whole = (SeriesChunk.run_id == run_id, SeriesChunk.thinned.is_(None), SeriesChunk.count > 1)
    columns = (SeriesChunk.id, SeriesChunk.count, SeriesChunk.data)
    with store.reading() if dry_run else store.writing() as session:
        chunks = list(fetch(session, select(*columns).where(*whole), CHUNKS_AT_ONCE))
        thin = [(number, len(data), *thinned(unpack(data, count), every)) for number, count, data in chunks]
        if not dry_run:
            for number, _, _, data in thin:
                chunk = update(SeriesChunk).where(SeriesChunk.id == number)
                session.execute(chunk.values(data=data, thinned=every))
            if thin:
                details = session.scalar(select(Run.details).where(Run.id == run_id)) or {}
                noted = details | {THINNED: {"one_of": max(every, one_of(details))}}
                session.execute(update(Run).where(Run.id == run_id).values(details=noted))
    if chunks:
        done.runs.append(run_id)
    for (_, before, after, data), (_, count, _) in zip(thin, chunks, strict=True):
        done.values_before, done.values_after = done.values_before + count, done.values_after + after
        done.bytes_before, done.bytes_after = done.bytes_before + before, done.bytes_after + len(data)


def one_of(details: Mapping[str, Any]) -> int:
    """The thinning factor in a run's details; 1: every value is kept."""
    found = details.get(THINNED)
    number = found.get("one_of") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 1


def thinned(values: Sequence[float], every: int) -> tuple[int, bytes]:
    """Pack the middle value of each block; nan (not measured) only if the block has no other value."""
    blocks = (values[start : start + every] for start in range(0, len(values), every))
    measured = ([value for value in block if not math.isnan(value)] or block for block in blocks)
    return pack(block[(len(block) - 1) // 2] for block in measured)
