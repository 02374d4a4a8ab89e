"""From recorded runs to the points of each kind of plot."""

from __future__ import annotations

import numpy as np
import pytest

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.reporting.figures.profiles import paired_ratio
from normbench_cli.reporting.figures.query import parse_plot
from normbench_cli.reporting.plots import draw
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.store import Store
from tests.reporting.figures.conftest import Figures, enter


def test_a_curve_has_a_figure_for_each_usual_metric_that_is_recorded(figures: Figures) -> None:
    made = figures("curve")
    assert [figure.options["metric"] for figure in made] == ["test/accuracy", "train/loss"]
    points = made[0].points
    assert points["group"].tolist() == ["batchnorm"] * 2 + ["popnorm"] * 2
    assert points["mean"].tolist() == pytest.approx([0.105, 0.21, 0.205, 0.41])
    assert points["n"].tolist() == [2] * 4
    assert made[0].options["unfinished"] == {"none": "1 diverged"}
    assert made[0].options["groups"] == ["batchnorm", "none", "popnorm"]


@pytest.mark.parametrize(
    ("by", "metric", "at"),
    [
        ("epoch", "test/accuracy", [1, 2]),
        ("step", "weights/l2", [1, 2, 3, 4]),
        ("seconds", "test/accuracy", [0.315, 0.63]),  # two steps of 0.1 and 0.2 s, times 1 or 1.1
    ],
)
def test_a_curve_goes_by_epoch_step_or_seconds(figures: Figures, by: str, metric: str, at: list[float]) -> None:
    (figure,) = figures(f"curve:by={by}", metrics=[metric])
    one = figure.points[figure.points["group"] == "batchnorm"]
    assert one["at"].tolist() == pytest.approx(at)
    assert set(one["unit_of_at"]) == {by}


def test_bars_and_pareto_have_means_costs_and_their_runs(figures: Figures) -> None:
    (bars,), (pareto,) = figures("bars"), figures("pareto")
    assert bars.points["mean"].tolist() == pytest.approx([0.21, 0.41])
    assert [len(runs) for runs in bars.points["runs"]] == [2, 2]
    assert pareto.points["cost"].tolist() == pytest.approx([157.5, 307.5])
    assert pareto.options["cost"] == "step_time_ms"


def test_a_strength_is_that_of_the_attacks_recorded(figures: Figures) -> None:
    (figure,) = figures("strength")
    one = figure.points[figure.points["group"] == "popnorm"]
    assert figure.options["metric"] == "test/accuracy@bim"
    assert one["at"].tolist() == [0.0, 0.01, 0.03]
    assert one["mean"].tolist() == pytest.approx([0.41, 0.1, 0.05])


def test_a_setting_that_is_a_number_is_a_strength_and_no_part_of_the_groups(figures: Figures, store: Store) -> None:
    enter(store, norm="popnorm", seed=0, epochs=2, batch_size=16)
    (figure,) = figures("strength:by=batch_size")
    one = figure.points[figure.points["group"] == "popnorm"]
    assert sorted(one["at"]) == [16, 128]
    with pytest.raises(UsageError, match="not a number"):
        figures("strength:by=norm")


def test_each_value_of_a_sweep_has_a_reference_of_its_own(figures: Figures, store: Store) -> None:
    """Shapes have names of their own; batch sizes of a model are settings."""
    for place, batch_size, factor in (("8x4", 128, 2.0), ("16x4", 128, 3.0), ("mlp", 8, 4.0), ("mlp", 16, 5.0)):
        for norm, ms in (("batchnorm", 1.0), ("popnorm", factor)):
            config = {"norm": norm, "batch_size": batch_size, "model": "mlp"}
            run_id = store.begin(config, f"{norm}{place}{batch_size}", {}, kind="profile", argv=[])
            store.record(run_id, {f"step_time_ms@{place}": ms}, series={f"step_time_ms@{place}": [ms] * 6})
            store.end(run_id, "finished")
    (figure,) = figures("ratios", kind="profile")
    found = sorted(zip(figure.points["at"], figure.points["ratio"], strict=True))
    assert found == [("16x4", 3.0), ("8x4", 2.0), ("mlp", 4.0), ("mlp", 5.0)]


def test_ratios_are_of_the_runs_of_one_profile(figures: Figures, store: Store) -> None:
    for norm, scale in (("batchnorm", 1.0), ("augnorm", 3.0)):
        run_id = store.begin({"norm": norm}, norm, {}, kind="profile", argv=[])
        store.record(run_id, {}, series={"step_time_ms@mlp": [scale * time for time in (1.0, 2.0, 9.0)]})
        store.end(run_id, "finished")
    (figure,) = figures("ratios", kind="profile")
    (row,) = figure.points.to_dict("records")
    assert (row["group"], row["at"]) == ("augnorm", "mlp")
    assert (row["ratio"], row["low"], row["high"]) == pytest.approx((3, 3, 3))
    with pytest.raises(NothingMeasured, match="no profile measured 'none'"):
        figures("ratios:reference=none", kind="profile")


def test_the_interval_of_a_ratio_holds_its_median() -> None:
    own, base = np.array([2.0, 4.0, 5.0, 9.0]), np.array([1.0, 2.0, 4.0, 3.0])
    ratio, low, high = paired_ratio(own, base)
    assert (low, ratio, high) == (1.25, 2.0, 3.0)


def test_ranks_are_means_over_data_sets(figures: Figures, store: Store) -> None:
    for data, scales in (("mutag", (2.0, 1.0)), ("ptc", (1.0, 3.0))):
        for norm, scale in zip(("batchnorm", "popnorm"), scales, strict=True):
            enter(store, norm=norm, data=data, seed=0, epochs=2, scale=scale)
    (figure,) = figures("critical_difference", by=["norm", "data"])
    assert dict(zip(figure.points["group"], figure.points["rank"], strict=True)) == pytest.approx(
        {"popnorm": 4 / 3, "batchnorm": 5 / 3}
    )
    assert figure.options["n"] == 3
    assert figure.options["cd"] == pytest.approx(1.960 * (2 * 3 / (6 * 3)) ** 0.5, rel=1e-3)  # Demsar 2006, table 5
    assert "sign test" in figure.notes[0]


def test_a_trend_counts_repeated_runs_that_a_table_counts_once(figures: Figures, store: Store) -> None:
    enter(store, norm="popnorm", seed=0, epochs=2, scale=2.0)
    store_again = enter(store, norm="popnorm", seed=0, epochs=2, scale=2.0)
    (figure,) = figures("trend")
    row = figure.points.set_index("group").loc["popnorm"]
    assert store_again in row["runs"]
    assert row["n"] == 4
    assert len(row["at"]) == len("2026-03-01")


@pytest.mark.parametrize(
    ("plot", "says"),
    [
        ("ratios", "add --kind profile"),
        ("critical_difference", "two values of data"),
        ("pareto:cost=step_time", "did you mean 'step_time_ms'"),
        ("curve:by=epok", "did you mean 'epoch'"),
        ("curv", "did you mean 'curve'"),
        ("trend:by=day", "it takes none"),
        ("bars:part=dat", "did you mean 'data'"),
        ("strength:by=batchsize", "did you mean 'batch_size'"),
        ("critical_difference:across=dat", "did you mean 'data'"),
    ],
)
def test_a_plot_that_cannot_be_made_says_what_to_do(figures: Figures, plot: str, says: str) -> None:
    with pytest.raises(NormbenchError, match=says):
        figures(plot)


@pytest.mark.parametrize("plot", ["curve", "pareto", "strength", "trend", "bars:part=seed"])
def test_what_is_made_can_be_drawn(figures: Figures, plot: str) -> None:
    for figure in figures(plot):
        assert draw(figure).axes


def test_a_plot_is_parsed_with_its_options() -> None:
    plot = parse_plot("pareto:cost=peak_memory_bytes", ["train/loss"])
    assert (plot.kind, dict(plot.options), plot.metrics) == ("pareto", {"cost": "peak_memory_bytes"}, ["train/loss"])
