"""The results of a profile as rows: every contender against every reference, in the form of the JSON output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from normbench_cli.experiments.profiling.measure import Measured
from normbench_cli.experiments.profiling.own_cost import rate_columns, share_columns
from normbench_cli.experiments.profiling.plan import REFERENCES
from normbench_cli.experiments.profiling.steps import Place
from normbench_cli.measure.ratios import count_outliers, paired_ratio
from normbench_cli.measure.timing import ratio

Row = dict[str, Any]


def place_columns(place: Place, device: str, amp: str) -> Row:
    """The columns that all rows of a place share."""
    if place.case is None:
        own = {"step": place.step, "start": place.start, "batch_size": place.batch_size}
        return {"model": place.model, "dtype": "float32", "amp": amp, "device": device, **own}
    case = place.case
    return {
        "shape": "x".join(map(str, case.shape)),
        "dtype": case.dtype,
        "amp": amp,
        "device": device,
        "memory_format": case.memory_format,
        "call": case.call,
        "pass": case.timed,
        "start": case.start,
        "count": place.count,
        **place.source,
    }


def result_rows(found: Measured, shared: Row) -> list[Row]:
    """All rows of one place."""
    rows: list[Row] = []
    for name, reference in product(found.timings, REFERENCES):
        names = {"contender": name, "reference": reference, **shared}
        rows.append(names | time_row(found, name, reference))
        if found.place.case is None:
            rows[-1] |= share_columns(found.timings[name], found.timings.get(reference))
            rows.append(names | rate_row(found, name, reference))
        rows.append(names | bytes_row("saved_activation_bytes", found.saved, name, reference))
        if name in found.peaks:
            rows.append(names | peak_row(found, name, reference))
    rows += [{**row, **shared} for row in solver_rows(found)]
    for name, failure in found.failures.items():
        empty = value_row("step_time_ms", None) | {"n": 0, "status": failure.status, "message": failure.message}
        rows.append({"contender": name, "reference": None, **shared, **empty})
    return rows


def time_row(found: Measured, name: str, reference: str) -> Row:
    timing, against = found.timings[name], found.timings.get(reference)
    times = ratio(timing, against) if against else None
    return {
        "metric": "step_time_ms",
        "median": timing.median,
        "iqr": timing.iqr,
        "p95": timing.p95,
        "n": len(timing.samples),
        "ratio": times.median if times else None,
        "ratio_low": times.low if times else None,
        "ratio_high": times.high if times else None,
        "noisy": found.noisy[name],
        "warmup": timing.warmup,
        "outliers": count_outliers(timing.samples),
        "stopped": found.stopped,
        "moved_bytes": found.moved.get(name),
        "least_ms": found.least_ms if found.moved.get(name) else None,
        "limit_fraction": found.limit_fraction(name),
        "calibrated": paired_ratio(timing.samples, found.calibrations).median,
        "status": "ok",
    }


def rate_row(found: Measured, name: str, reference: str) -> Row:
    columns = rate_columns(found.timings[name], found.timings.get(reference), found.place.batch_size)
    return {"metric": "samples_per_s", **columns, "noisy": found.noisy[name], "status": "ok"}


def bytes_row(metric: str, values: dict[str, int], name: str, reference: str) -> Row:
    base = values.get(reference)
    return value_row(metric, values[name], values[name] / base if base else None)


def peak_row(found: Measured, name: str, reference: str) -> Row:
    peak = found.peaks[name]
    if peak.bytes is None:
        return value_row("peak_memory_bytes", None) | {"n": 0, "status": peak.status, "message": peak.message}
    known = {one: other.bytes for one, other in found.peaks.items() if other.bytes is not None}
    return bytes_row("peak_memory_bytes", known, name, reference)


def solver_rows(found: Measured) -> Iterator[Row]:
    for name, metrics in found.solver.items():
        for metric, value in metrics.items():
            yield {"contender": name, "reference": None, **value_row(metric, value)}


def value_row(metric: str, value: float | None, ratio: float | None = None) -> Row:
    """A value that does not vary from sample to sample."""
    return {
        "metric": metric,
        "median": value,
        "iqr": 0,
        "p95": value,
        "n": 1,
        "ratio": ratio,
        "ratio_low": ratio,
        "ratio_high": ratio,
        "noisy": False,
        "status": "ok",
    }
