"""A figure of each kind, with points that its file asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from normbench_cli.reporting.document import Figure

MakeFigure = Callable[..., Figure]


def points_of(kind: str, groups: Sequence[str]) -> pd.DataFrame:
    """Two or three points of each group, in the columns of the kind."""
    measured = {"mean": 0.5, "sd": 0.1, "n": 3}
    by_group: dict[str, list[dict[str, Any]]] = {
        "curve": [{"at": at, "unit_of_at": "epoch", **measured, "mean": 0.5 / at} for at in (1, 2, 3)],
        "strength": [{"at": at, "unit_of_at": "eps", **measured} for at in (0.0, 0.01, 0.03)],
        "trend": [{"at": at, **measured} for at in ("2026-03-01", "2026-03-02")],
        "bars": [{"part": part, **measured} for part in ("digits", "mutag")],
        "ratios": [{"at": at, "ratio": 1.5, "low": 1.4, "high": 1.7, "noisy": at == "mlp"} for at in ("8x4", "mlp")],
        "pareto": [{"cost": 2.0, "cost_sd": 0.1, **measured}],
        "critical_difference": [{"rank": 1.0}],
        "sensitivity": [
            {"at": at, "mean": 0.5, "status": status}
            for at, status in ((0.01, "finished"), (0.1, "finished"), (0.3, "stopped"), (1.0, "diverged"))
        ],
        "expected_best": [{"at": at, "mean": 0.5, "low": 0.4, "high": 0.6, "n": 2} for at in (1, 2)],
        "survival": [{"at": at, "share": at / 100, "n": 3, "reached": 2} for at in (0.0, 20.0, 60.0)],
        "convergence": [
            {"panel": panel, "at": at, "error": 10.0**-at} for panel in ("relu", "cauchy") for at in (1, 4)
        ],
    }
    rows = [{"group": group, **row} for group in groups for row in by_group[kind]]
    points = pd.DataFrame(rows)
    if kind == "critical_difference":
        points["rank"] = range(1, len(points) + 1)
    if kind == "pareto":
        points["cost"] = [float(number) for number in range(1, len(points) + 1)]
    return points


@pytest.fixture
def make_figure() -> MakeFigure:
    def make(kind: str, names: Sequence[str] = ("batchnorm", "popnorm"), **options: Any) -> Figure:
        usual = {"metric": "test/accuracy", "cost": "step_time_ms", "reference": "none", "cd": 1.2, "n": 5}
        return Figure(f"A plot of {kind}", f"{kind}-1", kind, points_of(kind, names), usual | options)

    return make
