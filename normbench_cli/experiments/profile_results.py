"""The results of a profile as rows: every contender against every reference, in the form of the JSON output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from normbench_cli.measure.timing import Timing, is_noisy, ratio
from normbench_cli.measure.workloads import Workload

REFERENCES = ("none", "batchnorm")
Row = dict[str, Any]


def result_rows(
    workloads: Mapping[str, Workload],
    timings: Sequence[Timing],
    solver: Mapping[str, Mapping[str, float]],
    spread: tuple[float, float],
    shared: Row,
    calibration: Timing | None = None,
) -> list[Row]:
    """All rows of one shape or model.

    solver: metrics of each contender's solver.  spread: of the calibration before and after.  shared: what every row
    has: the shape or model, dtype, amp, device.  calibration: the times of a fixed piece of work in the same rounds.
    """
    by_name = {timing.name: timing for timing in timings}
    rows: list[Row] = []
    for timing, reference in product(timings, REFERENCES):
        names = {"contender": timing.name, "reference": reference, **shared}
        calibrated = {"calibrated": ratio(timing, calibration).median} if calibration else {}
        rows.append(names | time_row(timing, by_name[reference], noisy=is_noisy(*spread, timing)) | calibrated)
        saved, saved_by_reference = workloads[timing.name].saved_bytes, workloads[reference].saved_bytes
        fraction = saved / saved_by_reference if saved_by_reference else None
        rows.append(names | exact_row("saved_activation_bytes", saved, fraction))
    rows += solver_rows(solver, shared)
    return rows


def time_row(timing: Timing, reference: Timing, *, noisy: bool) -> Row:
    times = ratio(timing, reference)
    return {
        "metric": "step_time_ms",
        "median": timing.median,
        "iqr": timing.iqr,
        "p95": timing.p95,
        "n": len(timing.samples),
        "ratio": times.median,
        "ratio_low": times.low,
        "ratio_high": times.high,
        "noisy": noisy,
        "warmup": timing.warmup,
    }


def solver_rows(solver: Mapping[str, Mapping[str, float]], shared: Row) -> Iterable[Row]:
    for name, metrics in solver.items():
        for metric, value in metrics.items():
            yield {"contender": name, "reference": None, **shared, **exact_row(metric, value)}


def exact_row(metric: str, value: float, ratio: float | None = None) -> Row:
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
    }
