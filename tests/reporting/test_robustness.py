"""Accuracy against the strength of a disturbance: one parameter varies, its default is known, clean is at 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.curves import curve_points
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.reporting.selection import select_runs
from normbench_cli.store import Store


def record_runs() -> None:
    with Store.open() as opened:
        for seed in (0, 1):
            run_id = opened.begin({"norm": "batchnorm", "seed": seed}, str(seed), {"host": "here"}, argv=[])
            scores = {"": 0.9, "@bim": 0.5, "@bim:eps=0.01": 0.7, "@bim:eps=0.1": 0.1, "@fog:severity=5": 0.3}
            scores |= {"@gaussian:seed=1,sigma=0.1": 0.8, "@gaussian:seed=2": 0.6}
            opened.record(run_id, {f"test/accuracy{name}": value for name, value in scores.items()}, epoch=None, step=9)
            others = (
                "test/accuracy@fgsm:eps=0.5",
                "validation/accuracy@bim:eps=0.7",
                "test/loss@bim:eps=0.6",
                "test/loss",
            )
            opened.record(run_id, dict.fromkeys(others, 9.0))  # of other attacks, splits and measurements
            opened.end(run_id, "finished")


@pytest.fixture
def store(fill_once: Callable[..., None]) -> Iterator[Store]:
    fill_once(record_runs)
    with Store.open() as opened:
        yield opened


def points_of(store: Store, name: str) -> pd.DataFrame:
    return curve_points(store, select_runs(store, ReportQuery()), name)


def test_accuracy_against_epsilon_with_the_default_among_the_given(store: Store) -> None:
    points = points_of(store, "test/accuracy@bim")
    assert points["at"].tolist() == [0, 0.01, 0.03, 0.1]
    assert points["mean"].tolist() == pytest.approx([0.9, 0.7, 0.5, 0.1])
    assert set(points["unit_of_at"]) == {"eps"}
    assert set(points["n"]) == {2}


def test_accuracy_against_severity(store: Store) -> None:
    assert points_of(store, "test/accuracy@fog")["at"].tolist() == [0, 5]


def test_only_one_parameter_may_vary_the_others_must_be_fixed(store: Store) -> None:
    with pytest.raises(UsageError, match=r"differ in seed and sigma; fix all but one of them: .*@gaussian:sigma="):
        points_of(store, "test/accuracy@gaussian")
    points = points_of(store, "test/accuracy@gaussian:seed=1")
    assert points["at"].tolist() == [0, 0.1]


def test_a_disturbance_that_was_not_measured_is_an_error(store: Store) -> None:
    with pytest.raises(NothingMeasured):
        points_of(store, "test/accuracy@snow")


def test_of_pruning_all_channels_are_where_the_clean_score_stands(store: Store) -> None:
    first = select_runs(store, ReportQuery()).runs["id"].iloc[0]
    store.record(first, {f"test/accuracy@prune:by=gamma,keep={keep}": keep for keep in (0.1, 0.5)})
    points = points_of(store, "test/accuracy@prune:by=gamma")
    assert points["at"].tolist() == [0.1, 0.5, 1]
    assert points["mean"].tolist() == pytest.approx([0.1, 0.5, 0.9])
