"""What pairs two runs, what differs between two sides, and the ratios of profiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.compare.comparison import CompareQuery, TwoSides, compare
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.store import Store

Enter = Callable[..., str]


@pytest.fixture
def enter(home: Path) -> Enter:
    """Record a finished run with this accuracy, and a series of step times for a profile."""

    def run(accuracy: float, *, kind: str = "train", times: tuple[float, ...] = (), **config: Any) -> str:
        environment = {"host": "here", "versions": {"torch": str(config.pop("torch", "2.9"))}}
        with Store.open() as store:
            run_id = store.begin(config, str((kind, sorted(config.items()))), environment, kind=kind, argv=[])
            store.record(run_id, {"test/accuracy": accuracy}, epoch=1, step=len(times))
            if times:
                store.record(run_id, {}, step=len(times), series={"step_time_ms@32x8": times})
            store.end(run_id, "finished")
        return run_id

    return run


def compared(a: str, b: str) -> TwoSides:
    return compare(CompareQuery((a, b)))


def test_pairs_agree_in_the_settings_that_both_sides_vary(enter: Enter) -> None:
    for norm, shift in (("batchnorm", 0.0), ("popnorm", 0.1)):
        for act, level in (("relu", 0.1), ("tanh", 0.5)):
            for seed in range(3):
                enter(level + seed / 1000 + shift, norm=norm, act=act, seed=seed)
    enter(0.9, norm="popnorm", act="sigmoid", seed=0)
    found = compared("norm=batchnorm", "norm=popnorm")
    assert found.pairing == ["act"]
    (metric,) = found.metrics
    assert (metric.difference["n"], metric.difference["unpaired"]) == (6, 1)
    assert metric.difference["difference"] == pytest.approx(0.1)
    assert {one.name: (one.a, one.b) for one in found.settings} == {
        "norm": (("batchnorm",), ("popnorm",)),
        "act": (("relu", "tanh"), ("relu", "sigmoid", "tanh")),
    }


def test_several_values_of_a_seed_are_averaged(enter: Enter) -> None:
    enter(0.5, norm="batchnorm", seed=0)
    enter(0.6, norm="popnorm", seed=0)
    enter(0.8, norm="popnorm:kappa=4", seed=0)
    (metric,) = compared("norm=batchnorm", "norm like 'popnorm%'").metrics
    assert metric.b is not None
    assert metric.b.n == 2
    assert (metric.difference["n"], metric.difference["difference"]) == (1, pytest.approx(0.2))


def test_runs_without_a_common_seed_are_not_paired(enter: Enter) -> None:
    a, b = enter(0.5, norm="batchnorm", seed=0), enter(0.6, norm="batchnorm", seed=1, torch="2.10")
    found = compared(a, b)
    (metric,) = found.metrics
    assert metric.difference["n"] == 0
    assert "no seed has a value on both sides" in metric.difference["limits"]
    assert [(one.name, one.a, one.b) for one in found.facts] == [("versions.torch", ("2.9",), ("2.10",))]
    assert [one.name for one in found.settings] == ["seed"]


def test_profiles_are_compared_round_by_round(enter: Enter) -> None:
    a = enter(0, kind="profile", norm="batchnorm", times=(1.0, 2.0, 4.0, 8.0))
    b = enter(0, kind="profile", norm="popnorm", times=(2.0, 4.0, 8.0, 16.0))
    found = compared(a, b)
    assert found.ratios.to_dict("records") == [
        {"norm": "popnorm", "reference": "batchnorm", "runs": (b, a), "at": "32x8"}
        | {"ratio": 2.0, "low": 2.0, "high": 2.0, "interleaved": True}
    ]
    assert found.figures[-1].kind == "ratios"


def test_profiles_of_other_sessions_have_no_interval(enter: Enter) -> None:
    a = enter(0, kind="profile", norm="batchnorm", times=(1.0, 2.0, 4.0))
    b = enter(0, kind="profile", norm="popnorm", times=(3.0, 3.0))
    (row,) = compared(a, b).ratios.to_dict("records")
    assert (row["ratio"], row["interleaved"]) == (1.5, False)
    assert row["low"] != row["low"]


def test_a_run_is_not_compared_with_itself_nor_a_training_with_a_profile(enter: Enter) -> None:
    train, profile = enter(0.5, norm="batchnorm"), enter(0, kind="profile", norm="popnorm")
    with pytest.raises(UsageError, match="on both sides"):
        compared(train, train)
    with pytest.raises(NothingMeasured, match="only profile and train"):
        compared(train, profile)
