"""Recording the contents of spool files, each write exactly once, even if processes are killed or concurrent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy import select

from normbench_cli.errors import DatabaseError
from normbench_cli.store._spool.spool import pending, read_spool
from normbench_cli.store.database import Database
from normbench_cli.store.schema import Run

ASIDE = ".kept"  # appended to the name of a spool file that is not, or not completely, recorded
NAMED: set[Path] = set()  # spool files that this process has already reported as not recordable yet


def replay(database: Database, timeout: float | None = None, run_id: str | None = None) -> Iterator[str]:
    """Record the spools of a database, or only those of a run; yields a sentence about the outcome of each.

    Spools that live processes are still writing are skipped.
    """
    for spool in pending(database.location):
        if not spool.is_live and run_id in (None, spool.owner.run):
            try:
                yield from replay_one(database, spool.path, timeout)
            except DatabaseError as error:
                if spool.path not in NAMED:
                    yield f"still in {spool.path}: {spool.what} of run {spool.owner.run}; {error}"
                NAMED.add(spool.path)
                return  # the next one would wait as long


def replay_one(database: Database, path: Path, timeout: float | None) -> Iterator[str]:
    with database.writing(timeout, alone=True) as session:
        # The file is read under the database's lock, so two processes do not record it at once.  If this one is killed
        # before it removes the file, the next finds the measurements in the database.
        spool = read_spool(path)
        if spool is None:
            return
        owner = spool.owner
        process = select(Run.host, Run.pid, Run.process_started).where(Run.id == owner.run).with_for_update()
        recorder = session.execute(process).first()
        fits = recorder is not None and tuple(recorder) == (owner.host, owner.pid, owner.process_started)
        for write in spool.writes if fits else ():
            write.unless_recorded(session).execute(session)
    if fits and not spool.damaged:
        remove(path)
        yield f"recorded {spool.what} of run {owner.run} from {path}"
        return
    aside = path.with_name(path.name + ASIDE)
    with suppress(OSError):
        path.replace(aside)
    if fits:
        yield f"recorded {spool.what} of run {owner.run}; {spool.damaged} damaged lines are left in {aside}"
    else:
        why = "is not in the database" if recorder is None else "was continued by another process"
        yield f"not recorded, because run {owner.run} {why}: {spool.what}; kept in {aside}"


def remove(path: Path) -> None:
    """Remove a spool file, and a folder for spool files that it leaves empty."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()
