"""Reproducing suites: plan what is recorded, what will run, what cannot run and how long it takes; then run it.

Planning loads torch only if something is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from normbench_cli import paths
from normbench_cli.errors import UsageError
from normbench_cli.experiments.chosen_scale import recorded_scale
from normbench_cli.experiments.events import Callback, ignore
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.jobs import Job, make_jobs, with_state
from normbench_cli.store.status import WITH_RESULT
from normbench_cli.suites import Place, Scale, Suite

NOT_RUN = {"new": "not run"}  # how a status is shown in a table


@dataclass(frozen=True)
class Plan:
    """seconds: estimated time of the remaining jobs.  blocked: data set -> why its jobs cannot run.  shown: only show
    the records, run nothing."""

    suites: Sequence[Suite]
    scale: Scale
    jobs: Sequence[Job]
    seconds: float = 0.0
    blocked: Mapping[str, str] = field(default_factory=dict)
    shown: bool = False

    @cached_property
    def due(self) -> list[Job]:
        """The jobs that will run."""
        return [job for job in self.jobs if job.work and job.config.data not in self.blocked and not self.shown]

    @property
    def elsewhere(self) -> list[Job]:
        """The jobs that another process is running."""
        return [job for job in self.jobs if job.status == "running" and not self.shown]

    @property
    def missing(self) -> list[Job]:
        """The remaining jobs that cannot run, or that another process is running."""
        due = {job.fingerprint for job in self.due}
        return [job for job in self.jobs if not job.done and job.fingerprint not in due]

    def reasons(self, failed: Mapping[str, str]) -> dict[Place, str]:
        """Why cells have no result, for those without one.  failed: fingerprint -> reason."""
        return {
            place: failed.get(job.fingerprint)
            or self.blocked.get(job.config.data)
            or NOT_RUN.get(job.status, job.status)
            for job in self.jobs
            if not job.done
            for place in job.places
        }

    @property
    def recorded(self) -> dict[Place, str]:
        """The recorded run of each cell and seed that has a result."""
        return {place: job.run_id for job in self.jobs if job.status in WITH_RESULT for place in job.places}


def plan_reproduction(
    suites: Sequence[Suite], scale: Scale, budget: float | None = None, db: str | None = None
) -> Plan:
    """Plan the suites at a scale: what is recorded, and what is left.

    budget: seconds; the schedule of `short` is shortened until its runs fit.  The same budget yields the same schedule
    again, because it is recorded.
    """
    total = None
    if needs_size(suites, scale) and budget is not None:
        scale, total = recorded_scale(suites, scale, budget, db) or chosen_scale(suites, scale, budget, db)
    jobs = with_state(make_jobs(suites, scale), db)
    if not any(job.work for job in jobs):
        return Plan(suites, scale, jobs)
    from normbench_cli.experiments.estimates import estimate

    return Plan(suites, scale, jobs, *estimate(jobs, total))


def recorded_plan(suites: Sequence[Suite], scale: Scale, budget: float, db: str | None = None) -> Plan:
    """The records of the suites at a scale, only to be shown: nothing is estimated, nothing will run."""
    if needs_size(suites, scale):
        found = recorded_scale(suites, scale, budget, db)
        if found is None:
            raise UsageError(
                "--no-run: no schedule is recorded for this budget", "give the --budget of the recorded runs"
            )
        scale = found[0]
    return Plan(suites, scale, with_state(make_jobs(suites, scale), db), shown=True)


def needs_size(suites: Sequence[Suite], scale: Scale) -> bool:
    """Whether the length of schedules depends on the budget."""
    return scale.name == "short" and not all(scale.is_fixed(suite) for suite in suites)


def chosen_scale(suites: Sequence[Suite], scale: Scale, budget: float, db: str | None) -> tuple[Scale, float]:
    from normbench_cli.experiments.sizing import choose_scale

    return choose_scale(suites, scale, budget, db)


def run_plan(
    plan: Plan, db: str | None = None, on_event: Callback = ignore, choice: Choice | None = None
) -> dict[str, str]:
    """Run the jobs that are due, wait for those of other processes, and run those that they leave unfinished.

    Return the fingerprints of the jobs that failed, each with the reason.  choice: the executor; None runs the jobs
    sequentially in this process.
    """
    jobs = [*plan.due, *plan.elsewhere]
    if not jobs:
        return {}
    from normbench_cli.experiments.run_jobs import run_jobs

    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    return run_jobs(jobs, plan.scale.name, db, on_event, choice)


def after(plan: Plan, db: str | None = None) -> Plan:
    """The plan updated with the current records and data."""
    return replace(plan, jobs=with_state(make_jobs(plan.suites, plan.scale), db))
