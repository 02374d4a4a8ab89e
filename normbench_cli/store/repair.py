"""Repairing a database, after a backup: damage is fixed where possible; other damaged rows are removed and reported.

A finished run that can be read is never removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import update

from normbench_cli.errors import DatabaseError
from normbench_cli.store._repair.rows import repair_rows
from normbench_cli.store._repair.salvage import files_of, put_in_place, salvage
from normbench_cli.store.backup import backup, backup_name
from normbench_cli.store.check import Health, check_database, integrity_problems
from normbench_cli.store.run_folders import set_aside
from normbench_cli.store.schema import Night
from normbench_cli.store.stale import at_work, dead_nights
from normbench_cli.store.store import Store


@dataclass
class Repaired:
    """done: a sentence for every repair; lost: for everything that was lost; backup: the database before the repair;
    health: its state now."""

    health: Health
    done: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    backup: Path | None = None


def repair(location: str | None = None) -> Repaired:
    """Repair a database file.  One with damaged pages is replaced by a new file, so no run may be active then."""
    with Store.open(location, create=False, sweep=False) as store:
        path = store.location.path
        if path is None:
            do = "restore a dump with pg_restore; `normbench db check` names what is damaged"
            raise DatabaseError(f"{store.location} is not a file that can be repaired", do)
        health = check_database(store)
        repaired = Repaired(health)
        if not (health.problems or health.dead_runs or health.dead_nights or health.orphans):
            return repaired
        touched: Counter[str] = Counter()
        if broken := integrity_problems(path, store.location.read_query):
            repaired.backup, touched = replace_file(store, path, repaired)
        else:
            repaired.backup = backup(store.location, label="repair-")
    with Store.open(location, create=False, sweep=False) as store:
        if broken or health.problems:
            repair_rows(store, repaired.done, repaired.lost, touched)
        repaired.done += list(end_stale(store))
        if orphans := check_database(store, most_bytes=0).orphans:
            aside = set_aside(orphans)
            repaired.done.append(f"folders without a run are moved to {aside}: {', '.join(orphans)}")
        repaired.health = check_database(store)
    return repaired


def replace_file(store: Store, path: Path, repaired: Repaired) -> tuple[Path, Counter[str]]:
    """Replace a damaged file by a new one with the readable rows; returns the new path of the damaged one, and how many
    measurements each run has lost."""
    if alive := at_work(store):
        raise DatabaseError(f"the database {path} has damaged pages, and {alive[0]} is at work", "wait for its end")
    new = backup_name(path, "salvaged-")
    try:
        lost, touched = salvage(store, new)
    except BaseException:
        for file in files_of(new):
            file.unlink()
        raise
    store.close()
    aside = backup_name(path, "damaged-")
    try:
        put_in_place(new, path, aside)
    except OSError as error:
        what = f"the readable rows are in {new}, which cannot be put in the place of {path}: {error.strerror}"
        raise DatabaseError(what, "do that by hand") from error
    repaired.done.append("its readable rows are in a new file")
    repaired.lost += lost
    return aside, touched


def end_stale(store: Store) -> Iterator[str]:
    """Mark the runs and nights whose process is gone as ended."""
    dead, nights = store.dead_runs(), dead_nights(store)
    store.mark_interrupted(dead)
    with store.writing() as session:
        for night in nights:
            still = (Night.id == night.id, Night.status == "running", Night.heartbeat_at == night.heartbeat_at)
            ended = {"status": "killed", "finished_at": night.heartbeat_at}
            session.execute(update(Night).where(*still).values(**ended))
    yield from (f"run {run.id} is marked interrupted: its process is gone" for run in dead)
    yield from (f"night {night.id} is marked killed: its process is gone" for night in nights)
