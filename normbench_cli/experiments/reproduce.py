"""Reproducing suites: what is recorded, what will run, what cannot, and about how long it takes; then running it.

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

NOT_RUN = {"new": "not run"}  # what a status means in a table


@dataclass(frozen=True)
class Plan:
    """seconds: about how long the jobs that are left take.  blocked: data set -> why its jobs cannot run.  shown: it
    shows what is recorded, and nothing of it runs."""

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
        """The jobs that are left and cannot run, or that another process is running."""
        due = {job.fingerprint for job in self.due}
        return [job for job in self.jobs if not job.done and job.fingerprint not in due]

    def reasons(self, failed: Mapping[str, str]) -> dict[Place, str]:
        """Why a cell has no result, where it has none.  failed: fingerprint -> reason."""
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
    """What is recorded of the suites at a scale, and what is left.

    budget: seconds; the schedule of `short` is shortened until its runs take about as long.  The same budget gives the
    same schedule again, because it is recorded.
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
    """What is recorded of the suites at a scale, to be shown as it is: nothing is estimated, nothing will run."""
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
    """Run what is due, and wait for what other processes run; what they leave is run here.

    Gives the fingerprints of the jobs that failed, each with the reason.  choice: of an executor; None: one job after
    the other, here.
    """
    jobs = [*plan.due, *plan.elsewhere]
    if not jobs:
        return {}
    from normbench_cli.experiments.run_jobs import run_jobs

    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    return run_jobs(jobs, plan.scale.name, db, on_event, choice)


def after(plan: Plan, db: str | None = None) -> Plan:
    """The plan with what is recorded now, on the data that are there now."""
    return replace(plan, jobs=with_state(make_jobs(plan.suites, plan.scale), db))
