"""Runs executed by a launcher's workers: the run of a task, and the progress of running ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import func, select

from normbench_cli.store.reading import RUNS, AnyRow, fetch_each
from normbench_cli.store.recording import TASK
from normbench_cli.store.reservations import IN_LIMIT
from normbench_cli.store.schema import Metric, Run
from normbench_cli.store.store import Store


class Running(NamedTuple):
    """A running run.  epoch, score: of its last test or validation accuracy, if there is one yet."""

    run_id: str
    epoch: int | None = None
    score: float | None = None


def run_of_task(store: Store, fingerprint: str, task: str) -> AnyRow | None:
    """The run that a task started, whatever its status."""
    columns = (Run.id, Run.status, Run.host, Run.pid, Run.process_started, Run.heartbeat_at, Run.details)
    of_cell = select(*columns, Run.started_at).where(Run.fingerprint == fingerprint)
    with store.reading() as session:
        found, _ = fetch_each(session, of_cell, RUNS)
    newest_first = sorted(found, key=lambda run: run.started_at, reverse=True)
    return next((run for run in newest_first if run.details.get(TASK) == task), None)


def running(store: Store, fingerprints: Collection[str]) -> dict[str, Running]:
    """Fingerprint -> its running run, for at most a few hundred fingerprints."""
    some = sorted(fingerprints)[:IN_LIMIT]
    runs = select(Run.fingerprint, Run.id).where(Run.status == "running", Run.fingerprint.in_(some))
    with store.reading() as session:
        ids = {run.fingerprint: run.id for run in session.execute(runs)}
        last = (
            select(func.max(Metric.id))
            .where(Metric.run_id.in_(ids.values()), Metric.split.in_(("test", "validation")))
            .where(Metric.name == "accuracy", Metric.condition == "")
            .group_by(Metric.run_id)
        )
        scores = select(Metric.run_id, Metric.epoch, Metric.value).where(Metric.id.in_(last))
        known = {run_id: (epoch, score) for run_id, epoch, score in session.execute(scores)}
    return {fingerprint: Running(run_id, *known.get(run_id, (None, None))) for fingerprint, run_id in ids.items()}
