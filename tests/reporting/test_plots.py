"""A curve as a plot and as the numbers it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normbench_cli.reporting.plots import draw, write_curve
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report
from normbench_cli.reporting.tables import heading


def test_a_plot_and_its_numbers_are_written(reported: Callable[[ReportQuery], Report], tmp_path: Path) -> None:
    points = reported(ReportQuery(curves=["test/accuracy"])).curves["test/accuracy"]
    plot, numbers = write_curve(points, "test/accuracy", tmp_path / "out")
    assert plot.name == "curve-test_accuracy.png"
    assert plot.read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(pd.read_csv(numbers), points)


def drawn(monkeypatch: pytest.MonkeyPatch, points: pd.DataFrame, name: str) -> Axes:
    """The axes of a plot that is not written."""
    saved: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: saved.append(figure))
    draw(points, name, Path("plot.png"))
    ((axes,),) = [figure.axes for figure in saved]
    return axes


def points_of(means: list[float], n: int = 2, sd: float = 0.1) -> pd.DataFrame:
    """Points of two groups with the same means; the groups are not in alphabetical order."""
    parts = {"at": range(1, len(means) + 1), "mean": means, "sd": sd, "n": n, "unit_of_at": "epoch"}
    return pd.concat([pd.DataFrame(parts | {"group": group}) for group in ("popnorm", "none")])


@pytest.mark.parametrize(("name", "factor"), [("test/accuracy@bim", 100), ("train/loss", 1)])
def test_fractions_are_drawn_in_percent_and_axes_have_names(
    monkeypatch: pytest.MonkeyPatch, name: str, factor: int
) -> None:
    axes = drawn(monkeypatch, points_of([0.5, 0.75]), name)
    assert axes.get_xlabel() == "epoch"
    assert axes.get_ylabel() == heading(name)
    assert [line.get_label() for line in axes.lines] == ["popnorm (n=2)", "none (n=2)"]
    for line, band in zip(axes.lines, axes.collections, strict=True):
        assert np.asarray(line.get_xdata()).tolist() == [1, 2]
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx([0.5 * factor, 0.75 * factor])
        edges = band.get_paths()[0].get_extents()
        assert (edges.y0, edges.y1) == pytest.approx((0.4 * factor, 0.85 * factor))


@pytest.mark.parametrize(
    ("n", "bands", "says"), [(2, 2, "train/loss: mean and sd (ddof=1) over seeds"), (1, 0, "train/loss: mean")]
)
def test_a_band_of_one_sd_needs_two_runs(monkeypatch: pytest.MonkeyPatch, n: int, bands: int, says: str) -> None:
    axes = drawn(monkeypatch, points_of([1.0, 2.0], n), "train/loss")
    assert len(axes.collections) == bands
    assert axes.get_title(loc="left") == says


@pytest.mark.parametrize(
    ("name", "means", "scale"),
    [
        ("train/loss", [1.0, 51.0], "log"),
        ("train/loss", [1.0, 50.0], "linear"),
        ("train/loss", [0.0, 1.0, 51.0], "linear"),
        ("train/loss", [-1.0, 1.0, 51.0], "linear"),
        ("test/accuracy", [0.01, 0.9], "linear"),
    ],
)
def test_positive_values_of_several_magnitudes_have_a_logarithmic_axis(
    monkeypatch: pytest.MonkeyPatch, name: str, means: list[float], scale: str
) -> None:
    assert drawn(monkeypatch, points_of(means), name).get_yscale() == scale


def test_a_band_on_a_logarithmic_axis_stays_above_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = drawn(monkeypatch, points_of([1.0, 100.0], sd=2.0), "train/loss")
    assert axes.collections[0].get_paths()[0].get_extents().y0 == 0.5
