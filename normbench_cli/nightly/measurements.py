"""What the gate must know about a metric, from its name: its kind, its unit, whether more is better."""

from __future__ import annotations

from normbench_cli.nightly.series import Kind, Measurement
from normbench_cli.store.metric_names import higher_is_better, parse_metric, unit_of

TIME_VS_CALIBRATION = "time_vs_calibration"  # the median step over the calibration interleaved with the steps
TIME_VS_REFERENCE = "time_vs_batchnorm"  # median of the rounds' ratios
SECONDS = "cell_seconds"  # duration of the measurement: for the budget, not for the gate
UNITS = {TIME_VS_CALIBRATION: "x calibration", TIME_VS_REFERENCE: "x batchnorm", SECONDS: "s"}
KINDS: dict[str, Kind] = {
    TIME_VS_CALIBRATION: "time",
    TIME_VS_REFERENCE: "time",
    "peak_memory_bytes": "memory",
    "saved_activation_bytes": "memory",
    "solver/iterations_mean": "solver",
    "solver/unconverged": "solver",
    "train/loss": "accuracy",
    "test/accuracy": "accuracy",
    "validation/accuracy": "accuracy",
}
OF_TRAINING = tuple(name for name, kind in KINDS.items() if kind != "time")  # taken from the run unchanged
NEVER_EXACT = (TIME_VS_CALIBRATION, TIME_VS_REFERENCE, "peak_memory_bytes")


def measurement(cell: str, metric: str, unit: str = "", *, deterministic: bool = False) -> Measurement | None:
    """The measurement of a metric; None if the metric is not judged.

    deterministic: the device repeats results to the last digit, as a CPU does.  Resident memory and times vary even
    then, and so does how often a profile calls a solver.
    """
    base = metric.partition("@")[0]
    if base not in KINDS:
        return None
    return Measurement(
        cell=cell,
        metric=metric,
        kind=KINDS[base],
        higher_is_better=bool(higher_is_better(base)),
        exact=deterministic and base not in NEVER_EXACT and (KINDS[base] != "solver" or base == metric),
        unit=unit or unit_of_metric(metric),
        rough=is_rough(metric),
    )


def is_rough(metric: str) -> bool:
    return metric.partition("@")[0] == TIME_VS_CALIBRATION


def unit_of_metric(metric: str) -> str:
    return UNITS.get(parse_metric(metric).name) or unit_of(metric)
