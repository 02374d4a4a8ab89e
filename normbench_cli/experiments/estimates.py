"""The estimated time of a suite's jobs, measured on one job per network and data set; and which jobs cannot run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from normbench_cli import build, paths
from normbench_cli.config import RunConfig
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.dry_run import estimate_folds, estimate_steps
from normbench_cli.experiments.jobs import Job


def estimate(jobs: Sequence[Job], total: float | None = None) -> tuple[float, dict[str, str]]:
    """Return the estimated seconds of the remaining jobs, and the unavailable data sets, each with the reason.

    total: the seconds of all jobs, if known.
    """
    paths.set_compile_cache()
    blocked = missing_data(job.config.data for job in jobs if job.work)
    possible = [job for job in jobs if job.config.data not in blocked and not job.describes]
    left = [job.config for job in possible if job.work in ("train", "resume")]
    if total is not None:
        return total * len(left) / max(len(possible), 1), blocked
    return sum(seconds_of(left)), blocked


def missing_data(specs: Iterable[str]) -> dict[str, str]:
    """Return the data sets that cannot be loaded, each with the reason.  Downloads those that can be downloaded."""
    blocked: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        try:
            build.load_data(spec)
        except NormbenchError as error:
            blocked[spec] = str(error)
    return blocked


def seconds_of(configs: Iterable[RunConfig]) -> list[float]:
    """Return the estimate of each configuration; those with equal network, data set and length are measured once."""
    known: dict[tuple[object, ...], float] = {}
    found = []
    for config in configs:
        key = (config.model, config.data, config.epochs, config.iterations, config.folds)
        if key not in known:
            known[key] = measured_seconds(config)
        found.append(known[key])
    return found


def measured_seconds(config: RunConfig) -> float:
    """The seconds of one run: its setup time, and its steps extrapolated from a few."""
    began = time.perf_counter()
    try:
        resolved = build.resolve(config, trial=None)
        setup = time.perf_counter() - began
        return setup + (estimate_folds(resolved) if config.folds else estimate_steps(resolved)).seconds
    except NormbenchError:
        return 0.0  # it cannot run; running it reports why
