"""The best of a column, ties by the paired test, differences to a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report, report_of
from normbench_cli.reporting.statistics import compare_paired, holm
from normbench_cli.store import Store
from tests.many_runs import MadeRun, enter_runs

SEEDS = 8
NOISE = [0.001, -0.002, 0.003, 0.0005, -0.001, 0.002, -0.003, 0.0015]
GAIN = {"batchnorm": 0.0, "popnorm": 0.1, "groupnorm": 0.099, "none": -0.1}

Ask = Callable[..., Report]


def made_runs(seeds: int) -> Iterator[MadeRun]:
    for data, level in (("digits", 0.8), ("cifar10", 0.5)):
        for number, (norm, gain) in enumerate(GAIN.items()):
            for seed in range(seeds):
                accuracy = level + gain + NOISE[(seed + number) % SEEDS]
                status = "diverged" if (norm, data, seed) == ("popnorm", "digits", 7) else "finished"
                values = {"test/accuracy": accuracy, "train/loss": 1 - accuracy, "odd": seed}
                yield MadeRun({"norm": norm, "data": data, "seed": seed}, [values], status)


@pytest.fixture
def ask(home: object) -> Ask:
    """Four norms on two data sets, eight seeds each; seed 7 of popnorm diverged on digits."""

    def report(seeds: int = SEEDS, **query: Any) -> Report:
        with Store.open() as store:
            enter_runs(store, made_runs(seeds))
            return report_of(store, ReportQuery(**query))

    return report


def named(report: Report, keys: Any) -> set[tuple[Any, ...]]:
    return {(*report.groups.loc[group, report.fields], metric) for group, metric in keys}


def test_the_best_is_that_of_its_data_set_and_by_the_better_end(ask: Ask) -> None:
    report = ask(by=["norm", "data"], metrics=["test/accuracy", "train/loss", "odd"])
    winners = named(report, report.comparisons.best)
    assert {(norm, data) for norm, data, metric in winners if metric != "odd"} == {
        ("popnorm", "digits"),
        ("popnorm", "cifar10"),
    }
    assert {metric for *_, metric in winners} == {"test/accuracy", "train/loss"}
    assert not report.comparisons.ties


def test_ties_are_those_that_the_test_does_not_find_different(ask: Ask) -> None:
    report = ask(by=["norm"], across=["data"], metrics=["test/accuracy"])
    assert named(report, report.comparisons.ties) == {
        ("groupnorm", data, "test/accuracy") for data in ("digits", "cifar10")
    }
    assert not report.comparisons.limits


def test_with_three_seeds_all_are_ties_and_the_report_says_why(ask: Ask) -> None:
    report = ask(3, by=["norm"], across=["data"], metrics=["test/accuracy"])
    assert len(report.comparisons.ties) == 6
    (limit,) = report.comparisons.limits
    assert "with n=3 the permutation test cannot go below p=0.25" in limit
    assert any(note.startswith("Limits: with n=3") for note in report.notes)


def test_single_runs_have_a_best_and_no_test(ask: Ask) -> None:
    report = ask(1, by=["norm"], across=["data"], metrics=["test/accuracy"])
    assert len(report.comparisons.best) == 2
    assert not report.comparisons.ties


@pytest.mark.parametrize("baseline", ["batchnorm", "bn", "norm=bn"])
def test_differences_are_paired_by_seed_and_corrected_over_all_groups(ask: Ask, baseline: str) -> None:
    report = ask(by=["norm", "data"], metrics=["test/accuracy"], baseline=baseline)
    found = {
        tuple(report.groups.loc[group, ["norm", "data"]]): row
        for (group, _), row in report.comparisons.differences.items()
    }
    assert set(found) == {(norm, data) for norm in GAIN if norm != "batchnorm" for data in ("digits", "cifar10")}
    reference = [0.8 + NOISE[seed] for seed in range(7)]
    expected = compare_paired([0.9 + NOISE[(seed + 1) % 8] for seed in range(7)], reference, comparisons=6)
    row = found["popnorm", "digits"]
    assert (row["n"], row["diverged"]) == (7, 1)
    assert row["difference"] == pytest.approx(expected.difference)
    assert row["p_permutation"] == expected.p_permutation
    assert [one["p_holm"] for one in found.values()] == holm([one["p_permutation"] for one in found.values()])
    assert any("1 pair with a diverged run left out" in limit for limit in report.comparisons.limits)


def test_values_of_a_pooled_setting_are_paired_too(ask: Ask) -> None:
    report = ask(by=["norm"], metrics=["test/accuracy"], baseline="none")
    assert {row["n"] for row in report.comparisons.differences.values()} == {16, 15}


def test_a_baseline_that_no_group_has_gets_a_suggestion(ask: Ask) -> None:
    with pytest.raises(UsageError, match="did you mean 'popnorm'"):
        ask(1, by=["norm"], baseline="popnrm")


@pytest.mark.parametrize(("test", "ties"), [(None, False), (True, True)])
def test_a_plain_report_tests_only_when_asked(ask: Ask, test: bool | None, ties: bool) -> None:
    assert bool(ask(by=["norm"], metrics=["test/accuracy"], test=test).comparisons.ties) is ties
