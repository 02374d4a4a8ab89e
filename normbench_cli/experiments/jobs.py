"""The runs that a suite needs, and which are recorded.  Loads no torch, so a finished suite is reported at once.

Cells that need the same run share a job.  A job is a training run with the attacks that its cells measure, or the
description of a data set; it is looked up by its fingerprint, so nothing is run twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from normbench_cli.config import RunConfig
from normbench_cli.experiments.identity import data_digest, fingerprints
from normbench_cli.experiments.plan import newest_runs
from normbench_cli.experiments.pruning import pruning_of
from normbench_cli.registry import ATTACKS
from normbench_cli.store import Store
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.store.status import WITH_RESULT
from normbench_cli.suites import Cell, Place, Scale, Suite

Work = Literal["", "train", "resume", "evaluate", "describe"]  # what is left to do; describe: a data set


@dataclass(frozen=True)
class Job:
    """A run that cells of suites need.

    describes: the data set that it describes instead of training.  attacks: the attacks and prunings that the model is
    scored under, as metrics name them.
    status, run_id: of the recorded run.  work: what is left to do.  unmeasured: the attacks and prunings left to score.
    """

    config: RunConfig
    fingerprint: str
    describes: str = ""
    attacks: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    status: str = "new"
    run_id: str = ""
    work: Work = "train"
    unmeasured: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return not self.work and self.status != "running"


def make_jobs(suites: Iterable[Suite], scale: Scale) -> list[Job]:
    """The jobs of all cells and seeds, without duplicates, sorted by data set, then by seed."""
    listed = [job for suite in suites for cell in suite.cells for job in jobs_of(suite, cell, scale)]
    jobs: dict[str, Job] = {}
    for job in with_fingerprints(listed):
        known = jobs.get(job.fingerprint, job)
        jobs[job.fingerprint] = replace(
            known,
            config=max(known.config, job.config, key=lambda config: config.probes > 0),
            attacks=tuple(dict.fromkeys(known.attacks + job.attacks)),
            places=tuple(dict.fromkeys(known.places + job.places)),
        )
    return sorted(jobs.values(), key=lambda job: (job.config.data, job.config.seed))


def jobs_of(suite: Suite, cell: Cell, scale: Scale) -> Iterator[Job]:
    """The jobs that a cell needs, one per seed, still without fingerprints."""
    seeds = scale.seeds_of(suite)
    for seed in seeds[:1] if cell.is_of_data else seeds:
        config, places = scale.config(suite, cell, seed), (Place(suite.name, cell.row, cell.column, seed),)
        if cell.is_of_data:
            yield Job(config, "", describes=config.data, places=places)
        else:
            yield Job(config, "", attacks=attacks_of(cell.metric), places=places)


def with_fingerprints(jobs: Sequence[Job]) -> list[Job]:
    """Set the fingerprints, for the data as they are now.  Data that are not there yet add nothing, so the plan is made
    again after a run."""
    trainings = iter(fingerprints((job.config for job in jobs if not job.describes), download=False))
    data = cache(data_fingerprint)
    return [replace(job, fingerprint=data(job.describes) if job.describes else next(trainings)) for job in jobs]


def data_fingerprint(spec: str) -> str:
    """The fingerprint of a run that describes a data set."""
    digest = data_digest(spec, download=False)
    return hashlib.sha256(f"data {spec} {digest}".strip().encode()).hexdigest()[:16]


def attacks_of(metric: str) -> tuple[str, ...]:
    """The attack or pruning that a metric such as `test/accuracy@bim` is measured under, if any."""
    condition = parse_metric(metric).condition
    if pruning := pruning_of(condition):
        return (str(pruning),)
    return (ATTACKS.canonical(condition),) if condition.partition(":")[0] in ATTACKS.entries else ()


def with_state(jobs: Sequence[Job], db: str | None) -> list[Job]:
    """The jobs with the status of their recorded runs, and what is left to do."""
    newest = newest_runs([job.fingerprint for job in jobs], db)
    try:
        with Store.open(db, write=False) as store:
            return [state_of(job, *newest.get(job.fingerprint, ("", "new")), store) for job in jobs]
    except NoDatabase:
        return [replace(job, work="describe" if job.describes else "train", unmeasured=job.attacks) for job in jobs]


def state_of(job: Job, run_id: str, status: str, store: Store) -> Job:
    job = replace(job, run_id=run_id, status=status)
    if job.describes:
        return replace(job, work="" if status == "finished" else "describe")
    if status == "running":  # in another process
        return replace(job, work="")
    if status not in WITH_RESULT or lacks_probes(job, store):
        return replace(job, work="resume" if status == "interrupted" else "train", unmeasured=job.attacks)
    if status == "diverged" or not job.attacks:
        return replace(job, work="")
    metrics = store.latest_metrics(run_id)
    left = tuple(spec for spec in job.attacks if f"test/accuracy@{spec}" not in metrics)
    return replace(job, work="evaluate" if left else "", unmeasured=left)


def lacks_probes(job: Job, store: Store) -> bool:
    """Whether the cells need probes, but the recorded run, which has the same fingerprint, had none."""
    return job.config.probes > 0 and not store.find(job.run_id).config.get("probes")
