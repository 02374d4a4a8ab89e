"""Choosing the schedule of the scale `short`: the largest fraction of the paper's schedule that fits a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from normbench_cli import paths
from normbench_cli.device import pick_device
from normbench_cli.experiments.chosen_scale import record_scale
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.estimates import missing_data, seconds_of
from normbench_cli.experiments.jobs import make_jobs
from normbench_cli.suites import Scale, Suite

FRACTIONS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)


def choose_scale(suites: Sequence[Suite], scale: Scale, budget: float, db: str | None) -> tuple[Scale, float]:
    """Measure one run per network and data set, choose and record the scale; return it with its estimated seconds.

    If even the shortest schedule is too long, only one seed is used.  The time of suites with a fixed schedule is
    subtracted from the budget first.  budget: in seconds.
    """
    paths.set_compile_cache()
    sized = [suite for suite in suites if not scale.is_fixed(suite)]
    fixed = seconds_for([suite for suite in suites if scale.is_fixed(suite)], scale)
    seconds, left = seconds_for(sized, scale), budget - fixed
    fraction = next((one for one in FRACTIONS if one * seconds <= left), FRACTIONS[-1])
    chosen = replace(scale, fraction=fraction)
    if fraction * seconds > max(left, 0.0):
        chosen = replace(chosen, most_seeds=1)
        seconds *= len(make_jobs(sized, chosen)) / len(make_jobs(sized, scale))
    total = fixed + fraction * seconds
    record_scale(suites, scale, chosen, budget, total, environment(pick_device("auto")), db)
    return chosen, total


def seconds_for(suites: Sequence[Suite], scale: Scale) -> float:
    """The estimated seconds of all runs of suites, on the data that are available."""
    jobs = [job for job in make_jobs(suites, scale) if not job.describes]
    blocked = missing_data(job.config.data for job in jobs)
    return sum(seconds_of(job.config for job in jobs if job.config.data not in blocked))
