"""The cost of the norms alone in a model's step: their share of the step time, and the examples per second.

The step without the norm is that with `none`, which is timed in the same rounds.  A round's share is

    (time - time of the reference) / time

so the share relative to `none` is the norm's own, and that relative to `batchnorm` is its extra cost.  A round's share
is 1 - 1 / r, where r is the round's ratio of times; it is increasing in r, so its interval follows from the ratio's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from normbench_cli.measure.ratios import Ratio, paired_ratio
from normbench_cli.measure.timing import Timing

NONE = "none"


def share_of(timing: Timing, reference: Timing) -> Ratio:
    """The share of the step that exceeds the reference's time; negative if the reference is slower."""
    kept = paired_ratio(reference.samples, timing.samples)
    return Ratio(1 - kept.median, 1 - kept.high, 1 - kept.low)


def share_columns(timing: Timing, reference: Timing | None) -> dict[str, float | None]:
    """The share columns of a row for step_time_ms; None where the reference could not be measured."""
    found = share_of(timing, reference) if reference else None
    names = ("median", "low", "high")
    columns = ("share", "share_low", "share_high")
    return {column: getattr(found, name) if found else None for column, name in zip(columns, names, strict=True)}


def rate_columns(timing: Timing, reference: Timing | None, examples: int) -> dict[str, Any]:
    """The columns of a row for the metric samples_per_s."""
    rates = 1e3 * examples / np.array(timing.samples)
    low, median, high = np.percentile(rates, (25, 50, 75))
    faster = paired_ratio(reference.samples, timing.samples) if reference else None
    return {
        "median": float(median),
        "iqr": float(high - low),
        "p95": float(np.percentile(rates, 95)),
        "n": len(timing.samples),
        "ratio": faster.median if faster else None,
        "ratio_low": faster.low if faster else None,
        "ratio_high": faster.high if faster else None,
    }


def step_metrics(timing: Timing, without: Timing | None, examples: int) -> dict[str, float]:
    """The metrics recorded for a contender's step besides its time.  without: the step with the norm `none`."""
    rate = {"samples_per_s": 1e3 * examples / timing.median}
    return rate if without is None else rate | {"norm_share": share_of(timing, without).median}
