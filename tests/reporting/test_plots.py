"""A curve as a plot and as the numbers it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from normbench_cli.reporting.plots import write_curve
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report


def test_a_plot_and_its_numbers_are_written(reported: Callable[[ReportQuery], Report], tmp_path: Path) -> None:
    points = reported(ReportQuery(curves=["test/accuracy"])).curves["test/accuracy"]
    plot, numbers = write_curve(points, "test/accuracy", tmp_path / "out")
    assert plot.name == "curve-test_accuracy.png"
    assert plot.read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(pd.read_csv(numbers), points)
