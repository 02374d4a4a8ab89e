"""The results of `normbench profile --solver` as rows, in the form of a profile's JSON output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from normbench_cli.measure.ratios import paired_ratio
from normbench_cli.measure.steadiness import NOISY

Row = dict[str, Any]
REFERENCE = "newton"


@dataclass
class SolverPoint:
    """A solver stopped after `passes` passes.  errors, used: of each channel; used are passes.  samples: in ms."""

    passes: int
    errors: list[float]
    used: list[float]
    samples: list[float] = field(default_factory=list)

    @property
    def largest(self) -> float:
        """The largest error; nan if a channel has no result."""
        return float(np.max(self.errors))


def point_rows(found: Mapping[str, Sequence[SolverPoint]], data: str, phi: float, x: Tensor) -> list[Row]:
    """Two rows for each solver and number of passes: the error over the channels, the time over the rounds."""
    shared = {
        "data": data,
        "phi": phi,
        "shape": "x".join(map(str, x.shape)),
        "dtype": str(x.dtype).removeprefix("torch."),
        "device": x.device.type,
    }
    rows = []
    for solver, points in found.items():
        for point, base in zip(points, found[REFERENCE], strict=True):
            names = {"contender": solver, "reference": REFERENCE, **shared, "passes": point.passes}
            rows += [names | error_row(point), names | time_row(point, base)]
    return rows


def error_row(point: SolverPoint) -> Row:
    """The error in standard deviations of a channel: spread over the channels, largest, and passes used."""
    return {
        "metric": "solver/error",
        **spread(point.errors),
        "largest": point.largest,
        "used_mean": float(np.mean(point.used)),
        "used_max": float(np.max(point.used)),
        "ratio": None,
        "ratio_low": None,
        "ratio_high": None,
    }


def time_row(point: SolverPoint, base: SolverPoint) -> Row:
    times, found = paired_ratio(point.samples, base.samples), spread(point.samples)
    return {
        "metric": "step_time_ms",
        **found,
        "noisy": found["iqr"] > NOISY * found["median"],
        "ratio": times.median,
        "ratio_low": times.low,
        "ratio_high": times.high,
    }


def spread(values: Sequence[float]) -> Row:
    finite = np.isfinite(values).all()
    low, middle, high, p95 = np.percentile(values, (25, 50, 75, 95)) if finite else [np.nan] * 4
    return {
        "median": float(middle),
        "iqr": float(high - low),
        "p95": float(p95),
        "n": len(values),
        "noisy": False,
        "status": "ok",
    }
