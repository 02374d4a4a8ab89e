"""Reservations: processes on any machines share the cells of a grid, and each cell is executed by one of them.

A cell is reserved by the row of its run: running, with recent heartbeats.  A run reserves its cell in an exclusive
transaction, which raises `Taken` if another process has the cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from normbench_cli.store.errors import Taken
from normbench_cli.store.processes import is_gone
from normbench_cli.store.reading import RUNS, AnyRow, fetch_each
from normbench_cli.store.schema import Run
from normbench_cli.store.statements import Clock, clock, lock_name
from normbench_cli.store.status import WITH_RESULT

IN_LIMIT = 500  # values in one IN (...)
PROCESS = (Run.id, Run.host, Run.pid, Run.process_started, Run.heartbeat_at)


def reserve(session: Session, fingerprint: str, known: str, own: str = "") -> None:
    """Reserve a cell exclusively in this transaction.  Raises `Taken` if another process was faster.

    known: the run of this cell that the caller wants to repeat; empty if there is none.  own: the run that the caller
    continues.
    """
    lock_name(session, f"cell {fingerprint}")
    ensure_free(session, fingerprint, known, own)


def ensure_free(session: Session, fingerprint: str, known: str, own: str = "") -> None:
    """Raise `Taken` if another process has the cell."""
    if other := reservations(session, {fingerprint: known}, own).get(fingerprint):
        where = f" by process {other.pid} on {other.host}" if other.status == "running" else ""
        error = Taken(f"run {other.id} of the same cell is {other.status}{where}", "it is not run twice")
        error.fingerprint = fingerprint
        raise error


def reservations(session: Session, cells: Mapping[str, str], own: str = "") -> dict[str, AnyRow]:
    """Cells that other processes have, or have finished since the caller looked: fingerprint -> the run.

    cells: fingerprint -> the run that the caller knows and would repeat, or empty.  own: a run to ignore.
    """
    runs: dict[str, list[AnyRow]] = {}
    time = clock(session)
    wanted = sorted(cells)
    for start in range(0, len(wanted), IN_LIMIT):
        some = Run.fingerprint.in_(wanted[start : start + IN_LIMIT])
        query = select(Run.fingerprint, Run.status, Run.started_at, *PROCESS).where(some, Run.id != own)
        for run in fetch_each(session, query, RUNS)[0]:
            runs.setdefault(run.fingerprint, []).append(run)
    found = {
        fingerprint: holder_of(time, sorted(of_cell, key=lambda run: run.started_at), cells[fingerprint])
        for fingerprint, of_cell in runs.items()
    }
    return {fingerprint: run for fingerprint, run in found.items() if run is not None}


def holder_of(time: Clock, runs: Sequence[AnyRow], known: str) -> AnyRow | None:
    """The run that occupies a cell: a newer result, a live run, or a newer failure; None if the cell is free.

    runs: of one cell, oldest first.
    """
    results = [run for run in runs if run.status in WITH_RESULT]
    if results and results[-1].id != known:
        return results[-1]
    going_on = [run for run in runs if run.status == "running" and not is_gone(run, time.now, up=time.up)]
    if going_on:
        return going_on[-1]
    last = runs[-1]
    return last if last.status == "failed" and last.id != known and not results else None
