"""Recording a profile in the database: a run for each contender, with every raw sample."""

from __future__ import annotations

from typing import Any

from normbench_cli.build import ResolvedConfig
from normbench_cli.experiments.details import details_of
from normbench_cli.experiments.lifecycle import begin_run
from normbench_cli.experiments.profiling.identity import Identified, profile_fingerprint
from normbench_cli.experiments.profiling.measure import Measured
from normbench_cli.experiments.profiling.own_cost import NONE, step_metrics
from normbench_cli.measure.ratios import count_outliers
from normbench_cli.store import Store


def begin_contender(config: ResolvedConfig, plan: Identified, store: Store, facts: dict[str, Any]) -> str:
    """Record a new run for a contender.  The hardware is part of a profile's fingerprint."""
    own, details = details_of(config, facts)
    fingerprint = profile_fingerprint(own, config, plan, facts)
    return begin_run(config, store, facts, kind="profile", fingerprint=fingerprint, details=details)


def record_place(store: Store, run_ids: dict[str, str], found: Measured) -> None:
    """Record the metrics and samples of all contenders at one place."""
    at = found.place.condition
    for name, run_id in run_ids.items():
        metrics = {f"{metric}@{at}": float(value) for metric, value in metrics_of(found, name).items()}
        series = {}
        if name in found.timings:
            series = {f"step_time_ms@{at}": found.timings[name].samples, f"calibration_ms@{at}": found.calibration}
        if metrics:
            store.record(run_id, metrics, series=series)


def metrics_of(found: Measured, name: str) -> dict[str, float]:
    """The metrics of a contender; only `oom` or `failed`, with the value 1, if it could not be timed."""
    if name in found.failures:
        return {found.failures[name].status: 1.0}
    if name not in found.timings:
        return {}
    timing, peak, place = found.timings[name], found.peaks.get(name), found.place
    optional = {
        "peak_memory_bytes": peak.bytes if peak else None,
        "limit_fraction": found.limit_fraction(name),
    }
    return {
        "step_time_ms": timing.median,
        "saved_activation_bytes": found.saved[name],
        "warmup_steps": timing.warmup,
        "outliers": count_outliers(timing.samples),
        **({peak.status: 1.0} if peak and peak.status != "ok" else {}),
        **{metric: value for metric, value in optional.items() if value is not None},
        **found.solver[name],
        **({} if place.case else step_metrics(timing, found.timings.get(NONE), place.batch_size)),
    }


def end_contender(store: Store, run_id: str, name: str, measured: list[Measured]) -> None:
    """End a contender's run: failed if it could be measured nowhere; the message names where it could not."""
    failures = {each.place.condition: each.failures[name] for each in measured if name in each.failures}
    message = "; ".join(f"{at}: {failure.status}, {failure.message}" for at, failure in failures.items())
    nothing = failures and not any(name in each.timings for each in measured)
    store.end(run_id, "failed" if nothing else "finished", message)
