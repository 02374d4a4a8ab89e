"""What is special about each kind of plot."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.plots import draw, drawing_of
from normbench_cli.reporting.plots.critical_difference import joined_groups
from normbench_cli.reporting.plots.numbers import higher_is_better
from normbench_cli.reporting.plots.pareto import pareto_front
from tests.reporting.plots.conftest import MakeFigure


def curve_of(
    means: list[float], metric: str = "train/loss", n: int = 2, sd: float = 0.1, unit: str = "epoch"
) -> Figure:
    """A figure of one group with these means at 1, 2, 3, ..."""
    columns = {"group": "popnorm", "at": range(1, len(means) + 1), "mean": means, "sd": sd, "n": n, "unit_of_at": unit}
    return Figure(metric, "curve", "curve", pd.DataFrame(columns), {"metric": metric})


def axes_of(figure: Figure) -> Axes:
    plot = draw(figure)
    plot.draw_without_rendering()
    return plot.axes[0]


@pytest.mark.parametrize(("metric", "factor"), [("test/accuracy@bim", 100), ("train/loss", 1), ("x_bytes", 2**-20)])
def test_a_curve_and_its_band_are_in_the_unit_of_the_axis(metric: str, factor: float) -> None:
    axes = axes_of(curve_of([0.5, 0.75], metric))
    ((line,), (band,)) = axes.lines, axes.collections
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([0.5 * factor, 0.75 * factor])
    edges = band.get_paths()[0].get_extents()
    assert (edges.y0, edges.y1) == pytest.approx((0.4 * factor, 0.85 * factor))


@pytest.mark.parametrize(("n", "bands"), [(2, 1), (1, 0)])
def test_a_band_of_one_sd_needs_two_runs(n: int, bands: int) -> None:
    plot = draw(curve_of([1.0, 2.0], n=n))
    assert len(plot.axes[0].collections) == bands
    assert ("ddof=1" in plot.texts[-1].get_text()) == bool(bands)


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 200])
def test_epochs_are_whole_numbers(epochs: int) -> None:
    axes = axes_of(curve_of([1.0] * epochs))
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks
    assert all(tick.lstrip("-").isdigit() for tick in ticks)


@pytest.mark.parametrize(
    ("metric", "means", "scale"),
    [
        ("train/loss", [1.0, 51.0], "log"),
        ("train/loss", [1.0, 50.0], "linear"),
        ("train/loss", [0.0, 1.0, 51.0], "linear"),
        ("train/loss", [-1.0, 1.0, 51.0], "linear"),
        ("test/accuracy", [0.01, 0.9], "linear"),
    ],
)
def test_positive_values_of_several_magnitudes_have_a_logarithmic_axis(
    metric: str, means: list[float], scale: str
) -> None:
    assert axes_of(curve_of(means, metric)).get_yscale() == scale


@pytest.mark.parametrize(("sd", "reaches"), [(5.0, True), (1e-3, False)])
def test_a_band_that_leaves_a_logarithmic_axis_meets_its_edge_and_the_plot_says_so(sd: float, reaches: bool) -> None:
    plot = draw(curve_of([100.0, 1.0], sd=sd))
    axes, says = plot.axes[0], plot.texts[-1].get_text()
    (band,) = axes.collections
    lowest = float(band.get_paths()[0].get_extents().y0)
    assert lowest > 0
    assert (lowest == pytest.approx(axes.get_ylim()[0])) == reaches
    assert ("goes on below" in says.replace("\n", " ")) == reaches
    edges = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert edges.max() == pytest.approx(100 + sd)  # where it can be shown, it is mean + sd


def test_values_that_are_not_finite_leave_a_gap_that_is_named() -> None:
    figure = curve_of([1.0, math.inf, 2.0], n=1)
    assert "not finite" in draw(figure).texts[-1].get_text()
    assert len(drawing_of(figure).marks) == 2


def test_the_front_is_what_nothing_else_dominates() -> None:
    cost, gain = np.array([1.0, 2.0, 2.0, 3.0, 3.0]), np.array([0.5, 0.4, 0.9, 0.9, math.nan])
    assert pareto_front(cost, gain) == [True, False, True, False, False]
    assert pareto_front(np.array([1.0, 1.0]), np.array([0.5, 0.5])) == [True, True]


def test_only_the_front_is_filled(make_figure: MakeFigure) -> None:
    front, behind = [line for line in draw(make_figure("pareto")).axes[0].lines if str(line.get_marker()) in "os"]
    assert front.get_markerfacecolor() == front.get_color()
    assert behind.get_markerfacecolor() != behind.get_color()


@pytest.mark.parametrize(
    ("metric", "higher"),
    [("test/accuracy", True), ("train/loss", False), ("step_time_ms", False), ("samples_per_s", True)],
)
def test_which_direction_is_better(metric: str, higher: bool) -> None:
    assert higher_is_better(metric) is higher


@pytest.mark.parametrize(
    ("ranks", "joined"),
    [
        ([1.0, 2.0, 3.0], [(0, 1), (1, 2)]),
        ([1.0, 1.2, 1.4], [(0, 2)]),
        ([1.0, 5.0], []),
        ([1.0, 2.2, 5, 5.1], [(2, 3)]),
    ],
)
def test_a_bar_joins_ranks_less_than_the_critical_difference_apart(
    ranks: list[float], joined: list[tuple[int, int]]
) -> None:
    assert joined_groups(ranks, 1.2) == joined


def test_a_regression_is_ringed_and_named(make_figure: MakeFigure) -> None:
    figure = make_figure("trend", ["bn"])
    figure.points["remark"] = ["", "regression"]
    drawing = drawing_of(figure)
    assert "ring: regression" in drawing.plot.texts[-1].get_text()
    assert drawing.marks[1].text.endswith("regression")


def test_a_trend_of_few_days_has_a_tick_a_day(make_figure: MakeFigure) -> None:
    ticks = [label.get_text() for label in axes_of(make_figure("trend")).get_xticklabels()]
    assert ticks == ["Mar 01", "Mar 02"]


def test_a_ratio_has_its_interval_and_a_line_at_one(make_figure: MakeFigure) -> None:
    drawing = drawing_of(make_figure("ratios", ["popnorm"]))
    assert drawing.marks[0].text == "popnorm at 8x4: 1.5 (1.4 to 1.7)"
    assert any(list(map(float, np.asarray(line.get_xdata()))) == [1, 1] for line in drawing.plot.axes[0].lines)


def test_a_batch_size_axis_shows_the_sizes_measured(make_figure: MakeFigure) -> None:
    figure = make_figure("strength")
    figure.points["at"], figure.points["unit_of_at"] = [16, 64, 128] * 2, "batch_size"
    axes = axes_of(figure)
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16", "64", "128"]
