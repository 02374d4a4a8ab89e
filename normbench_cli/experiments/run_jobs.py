"""Running the jobs of a suite, sequentially or by workers: training, resuming, scoring under attacks or pruned,
describing data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from normbench_cli import build
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.experiments.data_facts import data_facts
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.evaluate import conditions_of, evaluate_run
from normbench_cli.experiments.events import Callback, RunEnded, RunStarted
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.launch import run_works
from normbench_cli.experiments.grid import train_cell
from normbench_cli.experiments.jobs import Job, data_fingerprint, state_of
from normbench_cli.experiments.recorded import recorded_result
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.sharing import Shared, check_free, known_run
from normbench_cli.experiments.train import resume_run
from normbench_cli.interrupts import Interrupted, held_back
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from normbench_cli.store.reading import AnyRow

THEN = "the same command continues the suite"


def run_jobs(
    jobs: Sequence[Job], scale: str, db: str | None, on_event: Callback, choice: Choice | None = None
) -> dict[str, str]:
    """Run jobs, except those that other processes have reserved.  Return the fingerprints of the failed ones, each with
    the reason."""
    failed: dict[str, str] = {}
    with Store.open(db) as store:
        if choice is not None:
            return failures(run_works([JobWork(job, scale) for job in jobs], choice, store, on_event, then=THEN), jobs)
        shared = Shared(jobs, store, on_event)
        for job, other in shared:
            on_event(RunStarted(job.config))
            try:
                result = run_shared(job, other, scale, store, on_event)
            except Taken as taken:
                shared.put_back(job, taken.fingerprint)
                continue
            except KeyboardInterrupt as stopped:
                raise Interrupted(f"{stopped or 'interrupted'}; {THEN}") from None
            except Exception as error:  # of any kind: it must not stop the other cells
                reason = f"{type(error).__name__}: {error}"
                result = RunResult(job.run_id, "failed", job.config, {}, reason, fingerprint=job.fingerprint)
            if result.lost or result.status == "failed":
                failed[job.fingerprint] = result.lost or result.message
            on_event(RunEnded(result))
    return failed


def run_shared(job: Job, other: AnyRow | None, scale: str, store: Store, on_event: Callback) -> RunResult:
    """Do what is left of a job now.  other: its run by another process."""
    if other is not None and other.status == "failed":
        return recorded_result(other.id, store)
    fingerprint = job.fingerprint if other is None else other.fingerprint
    return run_job(job_now(job, fingerprint, store), scale, store, on_event)


def job_now(job: Job, fingerprint: str, store: Store) -> Job:
    """The job with what is left to do now.  fingerprint: of its recorded run."""
    store.sweep(grace=timedelta(0))  # so that a run whose process is gone is continued at once
    run_id, status = store.newest_runs([fingerprint]).get(fingerprint, ("", "new"))
    if status == "running":
        raise Taken(f"run {run_id} of the same cell is running", "it is not run twice")
    return state_of(job, run_id, status, store)


def run_job(job: Job, scale: str, store: Store, on_event: Callback) -> RunResult:
    """Do what is left of a job, and return the run's result."""
    if job.work == "describe":
        return describe(job, store)
    if job.work == "resume":
        result = resume_run(job.run_id, store, on_event)
    elif job.work == "train":
        result = train_cell(replace(job.config, tag=f"reproduce-{scale}"), store, on_event, known_run(job))
    else:
        result = recorded_result(job.run_id, store)
    if job.unmeasured and result.status == "finished":
        evaluate_run(result.id, conditions_of(job.unmeasured), store, device=job.config.device, on_event=on_event)
    return result


def describe(job: Job, store: Store) -> RunResult:
    """Record the facts of a data set as a run of the kind `data`."""
    facts = data_facts(build.load_data(job.describes))
    fingerprint = data_fingerprint(job.describes)
    where = environment(pick_device("cpu"))
    with held_back():
        asked = {"data": job.describes}
        run_id = store.begin(asked, fingerprint, where, kind="data", argv=["reproduce"], instead_of=known_run(job))
        store.record(run_id, facts)
        store.end(run_id, "finished")
    return RunResult(run_id, "finished", job.config, facts, fingerprint=fingerprint)


def failures(results: Sequence[RunResult], jobs: Sequence[Job]) -> dict[str, str]:
    """The fingerprints of the jobs that failed in workers, each with the reason."""
    reasons = {job.fingerprint: result.lost for job, result in zip(jobs, results, strict=True) if result.lost}
    return reasons | {
        job.fingerprint: result.message for job, result in zip(jobs, results, strict=True) if result.status == "failed"
    }


@dataclass(frozen=True)
class JobWork:
    """A job to be done by a worker.  begun: whether a worker or another process has done a part of it."""

    job: Job
    scale: str
    begun: bool = False

    @property
    def config(self) -> RunConfig:
        return self.job.config

    @property
    def fingerprint(self) -> str:
        return self.job.fingerprint

    @property
    def run_id(self) -> str:
        return self.job.run_id

    @property
    def status(self) -> str:
        return self.job.status

    def run(self, store: Store, on_event: Callback) -> RunResult:
        if self.begun:
            return run_job(self.job, self.scale, store, on_event)
        check_free(self, store)
        return run_job(job_now(self.job, self.fingerprint, store), self.scale, store, on_event)

    def again(self, run_id: str, status: str, store: Store) -> JobWork:
        return replace(self, job=state_of(self.job, run_id, status, store), begun=True)

    def made(self, run_id: str, store: Store) -> RunResult | None:
        status = store.find(run_id).status
        left = status != "failed" and state_of(self.job, run_id, status, store).work
        return None if left else recorded_result(run_id, store)
