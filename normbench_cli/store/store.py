"""Opening the results database, and everything that is written to it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from normbench_cli import paths
from normbench_cli.config import GRID_FIELDS
from normbench_cli.errors import NormbenchError
from normbench_cli.store.connection import make_engine, translate_errors, version_of
from normbench_cli.store.location import Location, NoDatabase, hold_open, need_head, parse_location, sync_log
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.processes import GRACE, is_gone, this_process
from normbench_cli.store.rows import facts_hash, metric_rows, now, series_row
from normbench_cli.store.schema import Environment, Metric, Run, SeriesChunk
from normbench_cli.store.status import STATUSES, WITH_RESULT

SETTING_COLUMNS = (*GRID_FIELDS, "seed", "tag", "note")  # settings that have a column of their own
IN_LIMIT = 500  # values in one IN (...)


class Store:
    """The results database.  Every method is one short transaction: runs side by side do not wait long."""

    def __init__(self, location: Location) -> None:
        """Use `open`, which checks first."""
        self.location = location
        self._engine = make_engine(location, location.reading)

    @classmethod
    def open(cls, location: str | None = None, *, write: bool = True, create: bool = True, sweep: bool = True) -> Store:
        """The database at a path or URL (default: NORMBENCH_DB or the home's), at the newest schema.

        ``write``: it must be writable, and is made if there is none (unless ``create`` is false).  A reader
        makes nothing and may read a read-only one.  ``sweep``: runs whose process is gone are marked so, if
        the database is writable.
        """
        place = parse_location(paths.database(location))
        version = version_of(place)
        if version is not None:
            need_head(version, place.shown)
        elif not (write and create):
            raise NoDatabase(f"there is no database at {place.shown} yet", "`normbench train` makes one")
        if write:
            place.ensure_writable()
        if version is None:
            from normbench_cli.store.upgrade import upgrade

            upgrade(place)
        store = cls(place)
        if sweep and place.writable:
            store.sweep()
        return store

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that sees one state of the database, whatever others write meanwhile."""
        with translate_errors(self.location), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that holds the database's one write lock from its first statement on."""
        engine = self._engine.execution_options(writes=True)
        with translate_errors(self.location), Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def hold_open(self) -> Iterator[None]:
        """For the time of a run, in which transactions shall not take long."""
        with ExitStack() as stack:
            if self.location.path is not None:
                with translate_errors(self.location):
                    stack.enter_context(hold_open(self.location.path))
            yield

    def sync(self) -> None:
        """Wait until all that was recorded would outlast a power cut."""
        if self.location.path is not None:
            sync_log(self.location.path)

    def begin(
        self,
        config: Mapping[str, Any],
        fingerprint: str,
        environment: Mapping[str, Any],
        *,
        kind: str = "train",
        argv: list[str],
    ) -> str:
        """Enter a run, in state running, done by this process; its new id."""
        words = {name: config.get(name, None if name == "seed" else "") for name in SETTING_COLUMNS}
        moment = now()
        with self.writing() as session:
            run_id = secrets.token_hex(4)
            while session.get(Run, run_id):
                run_id = secrets.token_hex(4)
            session.execute(
                insert(Run).values(
                    id=run_id,
                    kind=kind,
                    fingerprint=fingerprint,
                    status="running",
                    message="",
                    config=dict(config),
                    argv=list(argv),
                    started_at=moment,
                    heartbeat_at=moment,
                    environment_id=environment_id(session, environment),
                    **words,
                    **this_process(),
                )
            )
        return run_id

    def record(
        self,
        run_id: str,
        metrics: Mapping[str, float],
        *,
        epoch: int | None = None,
        step: int | None = None,
        series: Mapping[str, Iterable[float]] | None = None,
    ) -> None:
        """Add measurements by their full names, and raw series that end at ``step``; a sign of life, too."""
        self.record_all(run_id, [(metrics, epoch, step, series or {})])

    def record_all(
        self,
        run_id: str,
        records: Iterable[tuple[Mapping[str, float], int | None, int | None, Mapping[str, Iterable[float]]]],
    ) -> None:
        """Many records (metrics, epoch, step, series) in one transaction: all of them are written, or none."""
        rows: list[dict[str, Any]] = []
        packed: list[dict[str, Any]] = []
        for metrics, epoch, step, series in records:
            rows += metric_rows(run_id, metrics, epoch, step)
            for name, values in series.items():
                row = series_row(run_id, name, values, epoch, 0)
                packed.append({**row, "first_step": max(0, (step or 0) - row["count"])})
        with self.writing() as session:
            if rows:
                session.execute(insert(Metric), rows)
            if packed:
                session.execute(insert(SeriesChunk), packed)
            beat(session, run_id)

    def beat(self, run_id: str) -> None:
        """A sign of life of a running run."""
        with self.writing() as session:
            beat(session, run_id)

    def reopen(self, run_id: str, step: int | None) -> None:
        """Make a run that ended early this process's again, as it was after a step: what was measured later goes.

        ``step`` 0: all goes, for what is measured before the first step is measured again.
        ``step`` None: of a cross-validation, what belongs to single folds stays and the rest is made again.
        """
        moment = now()
        late = Metric.condition.not_like("fold%") if step is None else Metric.step > (step or -1)
        with self.writing() as session:
            taken = session.scalar(select(Run.pid).where(Run.id == run_id, Run.status == "running"))
            if taken is not None:  # by another that was told to resume it at the same time
                raise NormbenchError(f"run {run_id} is running by now, in process {taken}", "let it end")
            session.execute(delete(Metric).where(Metric.run_id == run_id, late))
            if step is not None:
                ends_late = SeriesChunk.first_step + SeriesChunk.count > step
                session.execute(delete(SeriesChunk).where(SeriesChunk.run_id == run_id, ends_late))
            again = {"status": "running", "message": "", "heartbeat_at": moment, "finished_at": None}
            session.execute(update(Run).where(Run.id == run_id).values(**again, **this_process()))

    def end(self, run_id: str, status: str, message: str = "") -> None:
        """Close a run in its last state."""
        if status not in STATUSES:
            raise ValueError(f"a run cannot be {status}")
        moment = now()
        with self.writing() as session:
            change = update(Run).where(Run.id == run_id)
            session.execute(change.values(status=status, message=message, heartbeat_at=moment, finished_at=moment))

    def sweep(self, grace: timedelta = GRACE) -> list[str]:
        """Mark running runs whose process is gone, and was silent for the grace time, as interrupted; their ids."""
        moment = now()
        with self.reading() as session:
            running = session.scalars(select(Run).where(Run.status == "running"))
            gone = [run for run in running if is_gone(run, moment, grace)]
        if gone:
            with self.writing() as session:
                for run in gone:
                    as_it_was = (Run.status == "running", Run.heartbeat_at == run.heartbeat_at)  # not resumed meanwhile
                    change = update(Run).where(Run.id == run.id, *as_it_was)
                    message = "its process ended without a word"
                    session.execute(change.values(status="interrupted", message=message, finished_at=run.heartbeat_at))
        return [run.id for run in gone]

    def find(self, text: str) -> Run:
        """The run with this id, or the only one whose id begins so."""
        wanted, look = text.strip().lower(), "`normbench runs list` shows what there is"
        if not wanted or set(wanted) - set("0123456789abcdef"):
            raise NormbenchError(f"'{text}' is not a run's id, eight digits 0-9a-f or the first of them", look)
        with self.reading() as session:
            fitting = select(Run).where(Run.id.startswith(wanted)).order_by(Run.id).limit(4)
            found = list(session.scalars(fitting))
        if not found:
            raise NormbenchError(f"there is no run '{text}'", look)
        if len(found) > 1:
            ids = ", ".join(run.id for run in found[:3]) + (" and more" if len(found) > 3 else "")
            raise NormbenchError(f"'{text}' begins the ids of several runs: {ids}", f"write more of it; {look}")
        return found[0]

    def finished(self, fingerprints: Iterable[str]) -> dict[str, str]:
        """Fingerprint -> id of its newest run with a result; a diverged run is one: it would diverge again."""
        wanted, done = sorted(set(fingerprints)), dict[str, str]()
        with self.reading() as session:
            for start in range(0, len(wanted), IN_LIMIT):
                some = Run.fingerprint.in_(wanted[start : start + IN_LIMIT])
                ended = select(Run.fingerprint, Run.id).where(some, Run.status.in_(WITH_RESULT))
                for fingerprint, run_id in session.execute(ended.order_by(Run.started_at)):
                    done[fingerprint] = run_id
        return done

    def count(self) -> int:
        """How many runs are recorded."""
        with self.reading() as session:
            return session.scalar(select(func.count()).select_from(Run)) or 0

    def latest_metrics(self, run_id: str) -> dict[str, float]:
        """The last value of each metric of a run, by full name, in the order in which they came."""
        parts = (Metric.split, Metric.name, Metric.condition)
        last = select(func.max(Metric.id)).where(Metric.run_id == run_id).group_by(*parts)
        query = select(*parts, Metric.value).where(Metric.id.in_(last)).order_by(Metric.id)
        with self.reading() as session:
            rows = session.execute(query).all()
        return {str(MetricName(split, name, condition)): value for split, name, condition, value in rows}

    def delete(self, run_ids: Iterable[str]) -> None:
        """Remove runs with all that they measured.  Their folders are the caller's."""
        with self.writing() as session:
            for run_id in run_ids:
                session.execute(delete(Run).where(Run.id == run_id))
            used = select(Run.environment_id)
            session.execute(delete(Environment).where(Environment.id.not_in(used)))


def beat(session: Session, run_id: str) -> None:
    alive = update(Run).where(Run.id == run_id, Run.status == "running")
    session.execute(alive.values(heartbeat_at=now()))


def environment_id(session: Session, facts: Mapping[str, Any]) -> int:
    """The row of these facts, made if it is not there."""
    key = facts_hash(facts)
    known = session.scalar(select(Environment.id).where(Environment.hash == key))
    if known is not None:
        return known
    made = Environment(hash=key, facts=dict(facts))
    session.add(made)
    session.flush()
    return made.id
