"""The runs in the results database: beginning, finding and deleting them.  `recording` has their writes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from normbench_cli import paths
from normbench_cli.config import GRID_FIELDS
from normbench_cli.errors import NormbenchError
from normbench_cli.printable import masked, printable
from normbench_cli.store import network_folder
from normbench_cli.store._spool import recorder
from normbench_cli.store._spool.replay import remove
from normbench_cli.store._spool.spool import pending
from normbench_cli.store.connection import Synchronous, version_of
from normbench_cli.store.errors import SEE_CHECK, DamagedValue, NoDatabase, Taken
from normbench_cli.store.location import parse_location
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.processes import GRACE, is_gone, this_process
from normbench_cli.store.reading import RUNS, AnyRow, fetch, fetch_each, fetch_run
from normbench_cli.store.recording import TASK, Recording
from normbench_cli.store.reservations import IN_LIMIT, PROCESS, reserve
from normbench_cli.store.schema import Environment, Metric, Night, Run, SeriesChunk
from normbench_cli.store.statements import clock, environment_id, time_of, unused_id
from normbench_cli.store.status import WITH_RESULT
from normbench_cli.store.versions import require_head

log = logging.getLogger(__name__)

SETTING_COLUMNS = (*GRID_FIELDS, "seed", "tag", "note")  # settings with a column of their own


class Store(Recording):
    """The results database.  Every method is one short transaction, so that concurrent runs do not wait long."""

    @classmethod
    def open(
        cls,
        location: str | None = None,
        *,
        write: bool = True,
        create: bool = True,
        sweep: bool = True,
        synchronous: Synchronous | None = None,
    ) -> Store:
        """Open a database by path or URL (default: NORMBENCH_DB or the one in the home folder), at the newest schema.

        write: the database must be writable, and is created if it does not exist (unless ``create`` is false).
        Without ``write`` nothing is created, and a read-only database is accepted.
        sweep: record spools, and mark runs whose process is gone as interrupted, if the database is writable.
        synchronous: when SQLite waits for the disk, see `connection.SYNCHRONOUS`.
        """
        found = parse_location(paths.database(location))
        version = version_of(found)
        if version is not None:
            require_head(version, found.shown)
        elif not (write and create):
            raise NoDatabase(f"there is no database at {found.shown} yet", "`normbench train` makes one")
        if found.path is not None and (line := network_folder.warning(found.path)):
            log.warning(printable(line))
        if write:
            found.ensure_writable()
        if version is None:
            from normbench_cli.store.upgrade import upgrade

            upgrade(found)
        store = cls(found, synchronous)
        if sweep:
            store.replay(recorder.LOCK_TIMEOUT if write else recorder.RETRY_LOCK_TIMEOUT)
            if found.writable:
                store.sweep()
        return store

    def begin(
        self,
        config: Mapping[str, Any],
        fingerprint: str,
        environment: Mapping[str, Any],
        *,
        kind: str = "train",
        argv: list[str],
        details: Mapping[str, Any] | None = None,
        instead_of: str | None = None,
    ) -> str:
        """Add a run that this process executes, with status running; returns its new id.

        details: data, sources and more by topic; `add_details` adds to them.  instead_of: reserve the cell
        (`reservations`), and fail if any run but this one has it: the id of the run to be repeated, or an empty string.
        """
        settings = {name: config.get(name, None if name == "seed" else "") for name in SETTING_COLUMNS}
        process = this_process()
        self.flush()
        with self.writing() as session:
            if instead_of is not None:
                reserve(session, fingerprint, instead_of)
            run_id, moment = unused_id(session), time_of(session)
            session.execute(
                insert(Run).values(
                    id=run_id,
                    kind=kind,
                    fingerprint=fingerprint,
                    status="running",
                    message="",
                    config=dict(config),
                    argv=[masked(word) for word in argv],
                    started_at=moment,
                    heartbeat_at=moment,
                    environment_id=environment_id(session, environment),
                    details={**(details or {}), **self.labels},
                    **settings,
                    **process,
                )
            )
        self.follow(run_id, fingerprint, process)
        return run_id

    def reopen(self, run_id: str, step: int | None, instead_of: str | None = None, *, finished: bool = False) -> None:
        """Let this process continue a run that ended early from its state after `step`: later measurements are deleted.

        step 0: all are deleted, because those from before the first step will be repeated.
        step None, for a cross-validation: those of single folds are kept, those over all folds are deleted.
        instead_of: reserve the cell as `begin` does.  finished: a run with a result may be reopened, too.
        """
        late = Metric.condition.not_like("fold%") if step is None else Metric.step > (step or -1)
        process = this_process()
        self.replay(run_id=run_id)
        if left := [spool.path for spool in pending(self.location) if spool.owner.run == run_id]:
            raise NormbenchError(f"run {run_id} has records in the spool {left[0]}", "wait until they can be recorded")
        with self.writing() as session:
            fingerprint = session.scalar(select(Run.fingerprint).where(Run.id == run_id)) or ""
            if instead_of is not None:
                reserve(session, fingerprint, instead_of, run_id)
            of_run = select(Run.status, Run.pid, Run.details).where(Run.id == run_id).with_for_update()
            status, pid, details = session.execute(of_run).one_or_none() or ("", 0, {})
            if status == "running":  # another process has resumed it since
                raise Taken(f"run {run_id} is already being resumed by process {pid}", "wait for it")
            if status in WITH_RESULT and not finished:
                raise Taken(f"run {run_id} is {status}", "only a run that ended early can be resumed")
            session.execute(delete(Metric).where(Metric.run_id == run_id, late))
            if step is not None:
                ends_late = SeriesChunk.first_step + SeriesChunk.count > step
                session.execute(delete(SeriesChunk).where(SeriesChunk.run_id == run_id, ends_late))
            moment = time_of(session)
            again: dict[str, Any] = {"status": "running", "message": "", "heartbeat_at": moment, "finished_at": None}
            again["details"] = {key: value for key, value in details.items() if key != TASK} | self.labels
            session.execute(update(Run).where(Run.id == run_id).values(**again, **process))
            metrics = latest_metrics(session, run_id)
        self.follow(run_id, fingerprint, process, metrics)

    def sweep(self, grace: timedelta = GRACE) -> None:
        """Mark running runs whose process is gone as interrupted."""
        if dead := self.dead_runs(grace):
            self.mark_interrupted(dead)

    def dead_runs(self, grace: timedelta = GRACE) -> list[AnyRow]:
        """Running runs whose process is gone, and whose last heartbeat is older than the grace time."""
        query = select(*PROCESS).where(Run.status == "running").order_by(Run.id)  # mark_interrupted locks in this order
        with self.reading() as session:
            time = clock(session)
            running, _ = fetch_each(session, query, RUNS)
        return [run for run in running if is_gone(run, time.now, grace, time.up)]

    def mark_interrupted(self, dead: Iterable[AnyRow]) -> None:
        """Mark dead runs as interrupted, except those that were resumed since they were read."""
        with self.writing() as session:
            for run in dead:
                # a resumed run is running again, with a later heartbeat
                unchanged = (Run.id == run.id, Run.status == "running", Run.heartbeat_at == run.heartbeat_at)
                values = {"status": "interrupted", "message": "its process disappeared"}
                session.execute(update(Run).where(*unchanged).values(**values, finished_at=run.heartbeat_at))

    def find(self, text: str) -> Run:
        """The run with this id or unique prefix of an id; raises an error that names its damaged columns."""
        run_id = self.find_id(text)
        with self.reading() as session:
            return fetch_run(session, run_id)

    def find_id(self, text: str) -> str:
        """The id of the run that `find` would return."""
        start, do = text.strip().lower(), "see `normbench runs list`"
        if not start or set(start) - set("0123456789abcdef"):
            raise NormbenchError(f"'{text}' is not a run's id: eight digits 0-9a-f, or the first of them", do)
        with self.reading() as session:
            matching = select(Run.id).where(Run.id.startswith(start)).order_by(Run.id).limit(4)
            found = list(session.scalars(matching))
        if not found:
            raise NormbenchError(f"there is no run '{text}'", do)
        if len(found) > 1:
            ids = ", ".join(found[:3]) + (" and more" if len(found) > 3 else "")
            raise NormbenchError(f"several runs begin with '{text}': {ids}", f"give more digits; {do}")
        return found[0]

    def newest_runs(self, fingerprints: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Fingerprint -> id and status of its newest run with a result, or else of its newest run."""
        wanted, newest = sorted(set(fingerprints)), dict[str, tuple[str, str]]()
        with self.reading() as session:
            for start in range(0, len(wanted), IN_LIMIT):
                some = Run.fingerprint.in_(wanted[start : start + IN_LIMIT])
                query = select(Run.fingerprint, Run.id, Run.status, Run.started_at).where(some)
                found, _ = fetch_each(session, query, RUNS)
                for run in sorted(found, key=lambda run: (run.status in WITH_RESULT, run.started_at)):
                    newest[run.fingerprint] = run.id, run.status
        return newest

    def count(self) -> int:
        """The number of recorded runs."""
        with self.reading() as session:
            return session.scalar(select(func.count()).select_from(Run)) or 0

    def latest_metrics(self, run_id: str) -> dict[str, float]:
        """The last value of each metric of a run, by full name, in recording order."""
        with self.reading() as session:
            return latest_metrics(session, run_id)

    def label(self, run_ids: Collection[str], name: Literal["tag", "note"], text: str) -> None:
        """Set the tag or note of these runs, or of none if one is missing; their configs keep the original values."""
        with self.writing() as session:
            for run_id in sorted(run_ids):  # mark_interrupted locks in this order
                if session.scalar(select(Run.id).where(Run.id == run_id).with_for_update()) is None:
                    raise NormbenchError(f"run {run_id} has been removed", "nothing was changed; repeat without it")
                session.execute(update(Run).where(Run.id == run_id).values({name: text}))

    def delete(self, run_ids: Collection[str]) -> None:
        """Delete runs with everything they measured, but not their folders."""
        with self.writing(alone=True) as session:
            for run_id in run_ids:
                session.execute(delete(Run).where(Run.id == run_id))
            used = select(Run.environment_id).union(select(Night.environment_id))
            session.execute(delete(Environment).where(Environment.id.not_in(used)))
        for spool in pending(self.location):
            if spool.owner.run in run_ids:
                remove(spool.path)


def latest_metrics(session: Session, run_id: str) -> dict[str, float]:
    parts = (Metric.split, Metric.name, Metric.condition)
    last = select(func.max(Metric.id)).where(Metric.run_id == run_id).group_by(*parts)
    query = select(*parts, Metric.value).where(Metric.id.in_(last)).order_by(Metric.id)
    try:
        rows = list(fetch(session, query))
    except DamagedValue as error:
        raise DamagedValue(f"run {run_id}: its metrics are damaged: {error}", SEE_CHECK) from error
    return {str(MetricName(split, name, condition)): value for split, name, condition, value in rows}
