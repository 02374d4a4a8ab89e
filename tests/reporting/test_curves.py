"""Curves: a raw series before epochs, mean and sd over seeds, a picture and its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from normbench_cli.reporting.collect import NothingMeasured, ReportQuery
from normbench_cli.reporting.curves import MOST_POINTS, curves, thinned, write
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


def test_a_series_is_a_point_a_step_with_its_spread_over_seeds(store: Store) -> None:
    points = curves(store, ReportQuery(), "train/loss")
    assert sorted(set(points["group"])) == ["batchnorm", "popnorm"]
    one = points[points["group"] == "popnorm"]
    assert one["at"].tolist() == [1, 2, 3, 4]
    assert one["mean"].tolist() == [4.5, 2.5, 2.5, 1.5]
    assert one["sd"].tolist() == pytest.approx([0.5**0.5] * 4)
    assert set(one["n"]) == {2}


def test_without_a_series_there_is_a_point_an_epoch(store: Store) -> None:
    points = curves(store, ReportQuery(where=["norm=popnorm"]), "test/accuracy")
    assert points["at"].tolist() == [1, 2]
    assert points["mean"].tolist() == pytest.approx([0.45, 0.85])


def test_steps_that_nobody_looked_at_are_left_out(store: Store, home: Path) -> None:
    with Store.open() as opened:
        run_id = opened.begin({"norm": "none", "epochs": 1}, "n", {"host": "here"}, argv=[])
        opened.record(run_id, {}, epoch=1, step=4, series={"weights/l2": [1.0, float("nan"), 3.0, float("nan")]})
        opened.end(run_id, "finished")
    points = curves(store, ReportQuery(where=["norm=none"]), "weights/l2")
    assert points["at"].tolist() == [1, 3]
    assert points["mean"].tolist() == [1, 3]


def test_long_series_are_averaged_over_stretches() -> None:
    short = thinned(pd.Series(range(10 * MOST_POINTS), dtype="float32"))
    assert len(short) == MOST_POINTS
    assert short["value"].iloc[0] == 4.5
    assert short["at"].iloc[-1] == 10 * MOST_POINTS


def test_an_unknown_curve_names_the_nearest(store: Store) -> None:
    with pytest.raises(NothingMeasured, match="did you mean 'train/loss'"):
        curves(store, ReportQuery(), "train/los")


def test_a_picture_and_its_numbers_are_written(store: Store, tmp_path: Path) -> None:
    points = curves(store, ReportQuery(), "train/loss")
    picture, numbers = write(points, "train/loss", tmp_path / "out")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(numbers)) == len(points)
