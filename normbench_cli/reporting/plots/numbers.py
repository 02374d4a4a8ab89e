"""Numbers for plots: in the unit of the axis, and as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from normbench_cli.reporting import tables
from normbench_cli.store.metric_names import parse_metric, unit_of

LOWER_IS_BETTER = ("loss", "error", "drop", "_ms", "_s", "_bytes", "unconverged", "iterations", "rank")


def factor_of(metric: str) -> float:
    """The factor from a recorded value to the displayed unit: percent, MiB."""
    return {"fraction": 100.0, "bytes": 2.0**-20}.get(unit_of(metric), 1.0)


def heading(metric: str) -> str:
    """The metric with its displayed unit."""
    unit = unit_of(metric)
    name = metric.removesuffix(f"_{unit}")
    return f"{name} ({unit})" if unit in ("ms", "s") else tables.heading(metric)


def value_text(metric: str, row: Any) -> str:
    """A row's mean as text: 97.42 ± 0.21 (n=3)."""
    sd = getattr(row, "sd", math.nan)
    return tables.cell(metric, row.mean, sd, int(getattr(row, "n", 1)))


def higher_is_better(metric: str) -> bool:
    name = parse_metric(metric).name
    return not any(part in name for part in LOWER_IS_BETTER) or name.endswith("per_s")


def finite(values: pd.Series) -> pd.Series:
    """Replace infinite values by nan, which leaves a gap."""
    return pd.to_numeric(values).astype("float64").replace([np.inf, -np.inf], np.nan)
