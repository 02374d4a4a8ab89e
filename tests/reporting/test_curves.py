"""Curves: a raw series takes precedence over epochs; mean and sd over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from normbench_cli.reporting.curves import MAX_POINTS, curve_points, downsample
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.reporting.selection import select_runs
from normbench_cli.store import Store


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        for norm in ("batchnorm", "popnorm"):
            for seed in (0, 1):
                config = {"norm": norm, "seed": seed, "epochs": 2}
                run_id = opened.begin(config, f"{norm}{seed}", {"host": "here"}, argv=[])
                for epoch in (1, 2):
                    series = {"train/loss": [4.0 / epoch + seed, 2.0 / epoch + seed]}
                    scores = {"test/accuracy": 0.4 * epoch + 0.1 * seed}
                    opened.record(run_id, scores, epoch=epoch, step=2 * epoch, series=series)
                opened.end(run_id, "finished")
        yield opened


def points_of(store: Store, query: ReportQuery, name: str) -> pd.DataFrame:
    return curve_points(store, select_runs(store, query), name)


def test_a_series_has_a_point_for_each_step_and_its_sd_over_seeds(store: Store) -> None:
    points = points_of(store, ReportQuery(), "train/loss")
    assert sorted(set(points["group"])) == ["batchnorm", "popnorm"]
    one = points[points["group"] == "popnorm"]
    assert one["at"].tolist() == [1, 2, 3, 4]
    assert one["mean"].tolist() == [4.5, 2.5, 2.5, 1.5]
    assert one["sd"].tolist() == pytest.approx([0.5**0.5] * 4)
    assert set(one["n"]) == {2}
    assert set(points["unit_of_at"]) == {"step"}


def test_without_a_series_there_is_a_point_for_each_epoch(store: Store) -> None:
    points = points_of(store, ReportQuery(where=["norm=popnorm"]), "test/accuracy")
    assert points["at"].tolist() == [1, 2]
    assert points["mean"].tolist() == pytest.approx([0.45, 0.85])
    assert set(points["unit_of_at"]) == {"epoch"}
    assert points.columns.tolist() == ["group", "at", "mean", "sd", "n", "unit_of_at"]


def test_steps_without_a_value_are_left_out(store: Store, home: Path) -> None:
    with Store.open() as opened:
        run_id = opened.begin({"norm": "none", "epochs": 1}, "n", {"host": "here"}, argv=[])
        opened.record(run_id, {}, epoch=1, step=4, series={"weights/l2": [1.0, float("nan"), 3.0, float("nan")]})
        opened.end(run_id, "finished")
    points = points_of(store, ReportQuery(where=["norm=none"]), "weights/l2")
    assert points["at"].tolist() == [1, 3]
    assert points["mean"].tolist() == [1, 3]


def test_long_series_are_averaged_over_intervals() -> None:
    short = downsample(pd.Series(range(10 * MAX_POINTS), dtype="float32"))
    assert len(short) == MAX_POINTS
    assert short["value"].iloc[0] == 4.5
    assert short["at"].iloc[-1] == 10 * MAX_POINTS


@pytest.mark.parametrize(
    ("length", "points", "first", "last"),
    [
        (0, 0, None, None),
        (1, 1, (1, 0.0), (1, 0.0)),
        (MAX_POINTS, MAX_POINTS, (1, 0.0), (MAX_POINTS, MAX_POINTS - 1)),
        (MAX_POINTS + 1, MAX_POINTS // 2 + 1, (2, 0.5), (MAX_POINTS + 1, MAX_POINTS)),
        (2 * MAX_POINTS, MAX_POINTS, (2, 0.5), (2 * MAX_POINTS, 2 * MAX_POINTS - 1.5)),
    ],
)
def test_the_last_interval_of_a_long_series_may_be_shorter(
    length: int, points: int, first: tuple[int, float] | None, last: tuple[int, float] | None
) -> None:
    found = list(downsample(pd.Series(range(length), dtype="float32")).itertuples(index=False, name=None))
    assert len(found) == points
    if first is not None:
        assert (found[0], found[-1]) == (first, last)


def test_the_steps_of_a_curve_are_those_of_its_series() -> None:
    resumed = pd.Series([1.0, 2.0], index=[7, 9], dtype="float32")
    assert downsample(resumed)["at"].tolist() == [8, 10]


def test_only_finished_runs_have_a_part_in_a_curve(store: Store) -> None:
    for status in ("failed", "diverged"):
        run_id = store.begin({"norm": "popnorm", "seed": 9, "epochs": 2}, status, {}, argv=[])
        store.record(run_id, {"test/accuracy": 9.0}, epoch=1, step=2, series={"train/loss": [9.0, 9.0]})
        store.end(run_id, status)
    for name in ("test/accuracy", "train/loss"):
        points = points_of(store, ReportQuery(where=["norm=popnorm"], by=["norm", "act"]), name)
        assert set(points["n"]) == {2}
        assert set(points["group"]) == {"popnorm relu"}


def test_an_unknown_curve_gets_a_suggestion(store: Store) -> None:
    with pytest.raises(NothingMeasured, match="did you mean 'train/loss'"):
        points_of(store, ReportQuery(), "train/los")
